"""The console: pages in the browser on one's own traffic and on the lab, served beside the API."""
