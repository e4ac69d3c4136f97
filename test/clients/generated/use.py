"""Uploads a package, waits, decides and searches with a generated client: use.py PACKAGE FILE NAME."""

import os
import sys
import time
from importlib import import_module

package, path, name = sys.argv[1:]


def module(dotted):
    return import_module(f"{package}.{dotted}")


models = module("models")
client = module("client").AuthenticatedClient(
    base_url=os.environ["GATEHOUSE_URL"], token=os.environ["GATEHOUSE_TOKEN"], raise_on_unexpected_status=True
)

with open(path, "rb") as file:
    form = models.UploadForm(
        file=module("types").File(payload=file, file_name=os.path.basename(path)), distribution="jammy"
    )
    uploaded = module("api.upload.post_upload").sync(client=client, body=form)
assert isinstance(uploaded, models.UploadAnswer), uploaded
print("upload:", uploaded.status.value)

again = None
with open(path, "rb") as file:
    form.file = module("types").File(payload=file, file_name=os.path.basename(path))
    again = module("api.upload.post_upload").sync(client=client, body=form)
assert again.code == "already_exists", again
assert again.sha256 == uploaded.sha256, again

deadline = time.monotonic() + 60
while True:
    queue = module("api.security.get_security_review_queue").sync(client=client, q=name)
    if queue.total or time.monotonic() > deadline:
        break
    time.sleep(0.2)
print("queue:", queue.total)

decided = module("api.security.post_security_packages_name_version_decide").sync(
    name,
    uploaded.version,
    client=client,
    body=models.DecisionBody(
        justification="built by ourselves", decision=models.DecisionBodyDecision.APPROVE, sha256=uploaded.sha256
    ),
)
assert isinstance(decided, models.DecideAnswer), decided
print("decision:", decided.new_status.value)

found = module("api.artifacts.get_artifacts").sync(client=client, search=name)
item = found.items[0]
print("search:", item.name, item.version, item.status.value, "served" if item.served else "not served")
