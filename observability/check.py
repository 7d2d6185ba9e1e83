#!/usr/bin/env python3
"""Loads the alert rules and the dashboard's expressions into a real Prometheus that watches a running server.

    observability/check.py [URL]          # of the server, such as http://127.0.0.1:8080

It is an error if Prometheus does not understand a rule, the metrics or an expression, or cannot read the server. So is a
metric in a rule or in the dashboard that the server lacks. Without a URL only the files are checked. Prometheus is
Debian's (`apt-get install prometheus`) or in PATH; it listens at a loopback address and keeps its data in a temporary
directory.
"""

import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
RULES, DASHBOARD = HERE / "prometheus-rules.yml", HERE / "grafana-dashboard.json"
# Metrics that a server without a store lacks.
OF_A_STORE = {
    "sardonyx_store_lag_bytes", "sardonyx_store_answers", "sardonyx_store_base_due_seconds",
    "sardonyx_host_behind_seconds", "sardonyx_host_forks", "sardonyx_host_serves",
}
SECONDS = 60


def run(*command, **more):
    ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, **more)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{ran.stdout}{ran.stderr}")


def get(url, accept="*/*"):
    request = urllib.request.Request(url, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode(), answer.headers.get("Content-Type")


def expressions():
    """The expressions of the dashboard's panels, with Grafana's variables filled in."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"].replace("$instance", ".*").replace("$__rate_interval", "1m")
            yield panel["title"], expression


def check_formats(server):
    text, kind = get(f"{server}/metrics")
    assert kind.startswith("text/plain; version=0.0.4"), kind
    run("promtool", "check", "metrics", input=text)
    text, kind = get(f"{server}/metrics", "application/openmetrics-text;version=1.0.0")
    assert kind.startswith("application/openmetrics-text; version=1.0.0"), kind
    try:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    except ImportError:
        print("OpenMetrics is left to Prometheus: for a strict reader, pip install prometheus-client")
        return
    print(f"{len(list(text_string_to_metric_families(text)))} families, by a strict reader of OpenMetrics")


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def watch(server):
    """Starts a Prometheus that watches the server, and asks it for everything."""
    host, port = urllib.parse.urlparse(server).netloc, free_port()
    asked = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as directory:
        configuration = pathlib.Path(directory) / "prometheus.yml"
        configuration.write_text(
            "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
            f"rule_files: [{json.dumps(str(RULES))}]\n"
            f"scrape_configs: [{{job_name: sardonyx, static_configs: [{{targets: [{json.dumps(host)}]}}]}}]\n"
        )
        prometheus = subprocess.Popen(
            ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={directory}/data",
             f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"],
        )
        try:
            look(asked)
        finally:
            prometheus.terminate()
            prometheus.wait(timeout=30)


def query(asked, expression):
    encoded = urllib.parse.urlencode({"query": expression})
    return json.loads(get(f"{asked}/api/v1/query?{encoded}")[0])["data"]["result"]


def wait_until(what, holds):
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        try:
            if holds():
                return
        except OSError:
            pass
        time.sleep(0.5)
    sys.exit(f"{what}: not within {SECONDS} s")


def look(asked):
    def scraped():
        up = query(asked, 'up{job="sardonyx"}')
        return up and up[0]["value"][1] == "1" and query(asked, "count_over_time(sardonyx_ready[1m]) > 3")

    wait_until("Prometheus reads the server", scraped)
    named = set(re.findall(r"\bsardonyx_\w+", RULES.read_text() + DASHBOARD.read_text()))
    missing = [name for name in sorted(named - OF_A_STORE) if not query(asked, f"count({name})")]
    if missing:
        sys.exit(f"these metrics are named and not there: {', '.join(missing)}")
    for title, expression in expressions():
        try:
            query(asked, expression)
        except OSError as error:
            sys.exit(f"{title}: {expression}: {error}")
    groups = json.loads(get(f"{asked}/api/v1/rules")[0])["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    wait_until("the rules are evaluated", lambda: all(
        rule["health"] == "ok" for group in json.loads(get(f"{asked}/api/v1/rules")[0])["data"]["groups"] for rule in group["rules"]))
    firing = [rule["name"] for rule in rules if rule["state"] == "firing"]
    print(f"up is 1; {len(named)} metrics, {len(list(expressions()))} expressions and {len(rules)} rules are understood")
    print(f"firing: {', '.join(firing) or 'none'}")


def main():
    for program in ("promtool", "prometheus"):
        if shutil.which(program) is None:
            sys.exit(f"{program} is not installed: apt-get install prometheus")
    run("promtool", "check", "rules", RULES)
    tests = HERE / "prometheus-rules-test.yml"
    run("promtool", "test", "rules", tests)
    # An alert that no test sees may have an expression that cannot hold.
    untested = [name for name in re.findall(r"- alert: (\w+)", RULES.read_text()) if name not in tests.read_text()]
    if untested:
        sys.exit(f"no test has these alerts: {', '.join(untested)}")
    written = subprocess.run([sys.executable, HERE / "dashboard.py"], capture_output=True, text=True, check=True)
    assert written.stdout == DASHBOARD.read_text(), "grafana-dashboard.json is not what dashboard.py writes"
    print("the rules hold their tests; the dashboard is what dashboard.py writes")
    for server in sys.argv[1:2]:
        check_formats(server.rstrip("/"))
        watch(server.rstrip("/"))


if __name__ == "__main__":
    main()
