"""Draw the generated boards from a live Prometheus, as pages and pictures without Grafana."""
