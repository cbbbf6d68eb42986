"""Finished runs as one HTML page that needs no network: tables, plots and a trace viewer."""
