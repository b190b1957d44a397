"""Campaigns against the harness: inputs, answers, faults and interruptions by the thousand. See docs/campaigns.md."""
