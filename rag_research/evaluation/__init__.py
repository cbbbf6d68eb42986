"""Evaluation: ask every question, score the answers, report with intervals and costs."""
