#!/usr/bin/env python3
"""Writes grafana-dashboard.json: a panel is a line here.

    observability/dashboard.py > observability/grafana-dashboard.json
"""

import json

SOURCE = {"type": "prometheus", "uid": "${source}"}
HERE = 'instance=~"$instance"'
FLIGHTS = f"sum by (le) (rate(sardonyx_flight_seconds_bucket{{{HERE},protocol!=\"http\"}}[$__rate_interval]))"
WRITES = f"sum by (le) (rate(sardonyx_log_write_seconds_bucket{{{HERE}}}[$__rate_interval]))"


def rate(metric, labels=""):
    return f"rate({metric}{{{HERE}{labels}}}[$__rate_interval])"


def gauge(metric):
    return f"{metric}{{{HERE}}}"


def quantiles(histogram):
    return [(f"histogram_quantile({q}, {histogram})", f"{name}") for q, name in ((0.5, "half"), (0.95, "95%"), (0.99, "99%"))]


STATES = [
    ("Ready", gauge("sardonyx_ready"), "bool_yes_no", [("red", None), ("green", 1)]),
    ("Log closed by an error", gauge("sardonyx_log_poisoned"), "bool_yes_no", [("green", None), ("red", 1)]),
    ("Checkpointing stopped", gauge("sardonyx_checkpoint_stopped"), "bool_yes_no", [("green", None), ("red", 1)]),
    ("Waiting for room", gauge("sardonyx_checkpoint_waiting_seconds"), "s", [("green", None), ("red", 1)]),
    ("Up for", gauge("sardonyx_uptime_seconds"), "s", [("text", None)]),
    ("Last recovery", gauge("sardonyx_recovery_seconds"), "s", [("text", None)]),
]
# Title, unit, and what is drawn: expressions and their names. None begins a row.
GRAPHS = [
    ("Clients", None, None),
    ("Transactions", "ops", [(rate("sardonyx_transactions_total"), "{{instance}}")]),
    ("Response time of flights", "s", quantiles(FLIGHTS)),
    ("Statements by protocol", "ops", [(f"sum by (protocol) ({rate('sardonyx_statements_total')})", "{{protocol}}")]),
    ("Connections", "short", [(gauge("sardonyx_connections"), "{{protocol}}"),
                              (rate("sardonyx_connections_refused_total"), "refused in a second")]),
    ("Errors by class of SQLSTATE", "ops", [(f"sum by (class) ({rate('sardonyx_errors_total')}) > 0", "{{class}}")]),
    ("Slow statements", "ops", [(rate("sardonyx_slow_statements_total"), "{{instance}}")]),
    ("Pipeline", None, None),
    ("How busy the stages are", "percentunit", [(rate("sardonyx_stage_busy_seconds_total"), "{{stage}}")]),
    ("Groups", "ops", [(rate("sardonyx_log_groups_total"), "groups"), (gauge("sardonyx_log_outstanding_groups"), "not durable yet")]),
    ("Transactions in a group", "short", [
        (f"{rate('sardonyx_transactions_total')} / {rate('sardonyx_log_groups_total')}", "on average"),
        (gauge("sardonyx_log_largest_group_transactions"), "the most")]),
    ("Write of a group to the log", "s", quantiles(WRITES)),
    ("Log", "Bps", [(rate("sardonyx_log_written_bytes_total"), "written"), (rate("sardonyx_log_payload_bytes_total"), "of records")]),
    ("Checkpoints", None, None),
    ("Log to redo", "bytes", [(gauge("sardonyx_checkpoint_lag_bytes"), "{{instance}}"),
                              (gauge("sardonyx_store_lag_bytes"), "not in the store")]),
    ("Backup", "Bps", [(rate("sardonyx_checkpoint_written_bytes_total"), "written")]),
    ("Checkpoints in an hour", "short", [(f"increase(sardonyx_checkpoints_total{{{HERE}}}[1h])", "{{instance}}")]),
    ("Tables and memory", None, None),
    ("Memory", "bytes", [(gauge("sardonyx_memory_bytes"), "{{used_for}}")]),
    ("Largest tables", "bytes", [(f"topk(10, {gauge('sardonyx_table_bytes')})", "{{table}}")]),
    ("Rows", "short", [(f"topk(10, {gauge('sardonyx_table_rows')})", "{{table}}")]),
    ("Hottest tables", "ops", [(f"topk(10, {rate('sardonyx_table_changes_total')})", "{{table}}")]),
]


def targets(expressions):
    return [{"refId": chr(65 + at), "datasource": SOURCE, "expr": expression, "legendFormat": name}
            for at, (expression, name) in enumerate(expressions)]


def panels():
    number, top = 0, 0
    for at, (title, expression, unit, steps) in enumerate(STATES):
        number += 1
        thresholds = {"mode": "absolute", "steps": [{"color": colour, "value": value} for colour, value in steps]}
        yield {
            "id": number, "type": "stat", "title": title, "datasource": SOURCE, "targets": targets([(expression, "{{instance}}")]),
            "gridPos": {"x": 4 * at, "y": top, "w": 4, "h": 4},
            "fieldConfig": {"defaults": {"unit": unit, "thresholds": thresholds}, "overrides": []},
            "options": {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "value", "graphMode": "none"},
        }
    top, place = 4, 0
    for title, unit, expressions in GRAPHS:
        number += 1
        if unit is None:
            top, place = top + (8 if place else 0), 0
            yield {"id": number, "type": "row", "title": title, "collapsed": False, "panels": [],
                   "gridPos": {"x": 0, "y": top, "w": 24, "h": 1}}
            top += 1
            continue
        if place == 3:
            top, place = top + 8, 0
        yield {
            "id": number, "type": "timeseries", "title": title, "datasource": SOURCE, "targets": targets(expressions),
            "gridPos": {"x": 8 * place, "y": top, "w": 8, "h": 8},
            "fieldConfig": {"defaults": {"unit": unit, "min": 0, "custom": {"fillOpacity": 8, "showPoints": "never"}}, "overrides": []},
            "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        }
        place += 1


VARIABLES = [
    {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
    {"name": "instance", "label": "Server", "type": "query", "datasource": SOURCE, "query": "label_values(sardonyx_ready, instance)",
     "refresh": 2, "multi": True, "includeAll": True, "allValue": ".*", "current": {"text": "All", "value": "$__all"}},
]
print(json.dumps({
    "title": "Sardonyx", "uid": "sardonyx", "schemaVersion": 39, "version": 1, "editable": True, "tags": ["sardonyx"],
    "timezone": "", "refresh": "10s", "time": {"from": "now-30m", "to": "now"},
    "templating": {"list": VARIABLES}, "panels": list(panels()),
}, indent=1, ensure_ascii=False))
