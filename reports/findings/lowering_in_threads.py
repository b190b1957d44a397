"""to_backend: lowering from several threads at once ends the process, in most runs (with torch's own test backend).

Expected: that the process ends with the status 0.
"""

import subprocess
import sys
import threading
from pathlib import Path

import torch

torch.ops.load_library(str(Path(torch.__file__).parent / "lib" / "libjitbackend_test.so"))


class Add(torch.nn.Module):
    def forward(self, x, h):
        return x + h


def lower():
    for _ in range(20):
        torch._C._jit_to_backend("test_backend", torch.jit.script(Add()), {"forward": {"": ""}})


if len(sys.argv) == 1:
    print(f"eager: {Add()(torch.ones(2), torch.ones(2)).tolist()}", flush=True)
    for _ in range(10):
        status = subprocess.run([sys.executable, "-W", "ignore", __file__, "once"], check=False).returncode
        if status:
            print(f"the process ended with the status {status}")
            sys.exit(1)
else:
    threads = [threading.Thread(target=lower) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("every lowering returned", flush=True)
