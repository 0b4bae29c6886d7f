# Generated from the contracts in shared/api by `make clients`. Changes belong there.
"""Every operation of the service, by resource."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, List, Literal, Union, cast

from .._events import Event, listen
from .._pages import PAGE_SIZE, all_of
from .._transport import Transport, segment
from . import types

class Account:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self) -> types.Account:
        """The account, its quotas, and how much of them it uses."""
        return cast("types.Account", self._transport.call("GET", "/account"))


class Keys:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, page: Union[int, None] = None, page_size: Union[int, None] = None, name: Union[str, None] = None, sort: Union[types.ListSort, None] = None, cursor: Union[str, None] = None) -> types.ListKeysResponse:
        """List API keys."""
        return cast("types.ListKeysResponse", self._transport.call("GET", "/keys", query={"page": page, "page_size": page_size, "name": name, "sort": sort, "cursor": cursor}))

    def all(self, *, name: Union[str, None] = None, sort: Union[types.ListSort, None] = None) -> Iterator[types.ApiKey]:
        """Every item of `list`; fetches pages as they are needed."""
        return all_of(lambda cursor: self.list(name=name, sort=sort, page_size=PAGE_SIZE, cursor=cursor), "keys")

    def create(self, body: types.CreateKeyRequest) -> types.CreateKeyResponse:
        """Create an API key; its secret is shown only in this response."""
        return cast("types.CreateKeyResponse", self._transport.call("POST", "/keys", body=body))

    def delete(self, id_: str) -> None:
        """Revoke an API key and its tokens."""
        self._transport.call("DELETE", f"/keys/{segment(id_)}")


class Audit:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, page: Union[int, None] = None, page_size: Union[int, None] = None, cursor: Union[str, None] = None, sort: Union[types.TimeSort, None] = None, resource_id: Union[str, None] = None, actor: Union[str, None] = None, operation: Union[str, None] = None) -> types.ListAuditResponse:
        """Who changed what, when and from where, with resources of every kind, whatever other scopes the caller has; the newest first."""
        return cast("types.ListAuditResponse", self._transport.call("GET", "/audit", query={"page": page, "page_size": page_size, "cursor": cursor, "sort": sort, "resource_id": resource_id, "actor": actor, "operation": operation}))

    def all(self, *, sort: Union[types.TimeSort, None] = None, resource_id: Union[str, None] = None, actor: Union[str, None] = None, operation: Union[str, None] = None) -> Iterator[types.AuditEntry]:
        """Every item of `list`; fetches pages as they are needed."""
        return all_of(lambda cursor: self.list(sort=sort, resource_id=resource_id, actor=actor, operation=operation, page_size=PAGE_SIZE, cursor=cursor), "entries")


class Smartmodules:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, page: Union[int, None] = None, page_size: Union[int, None] = None, name: Union[str, None] = None, status: Union[str, None] = None, sort: Union[types.ListSort, None] = None, cursor: Union[str, None] = None, kind: Union[types.SmartModuleKind, None] = None) -> types.ListSmartModulesResponse:
        """List SmartModules, including the built-in ones."""
        return cast("types.ListSmartModulesResponse", self._transport.call("GET", "/smartmodules", query={"page": page, "page_size": page_size, "name": name, "status": status, "sort": sort, "cursor": cursor, "kind": kind}))

    def all(self, *, name: Union[str, None] = None, status: Union[str, None] = None, sort: Union[types.ListSort, None] = None, kind: Union[types.SmartModuleKind, None] = None) -> Iterator[types.SmartModuleItem]:
        """Every item of `list`; fetches pages as they are needed."""
        return all_of(lambda cursor: self.list(name=name, status=status, sort=sort, kind=kind, page_size=PAGE_SIZE, cursor=cursor), "modules")

    def compile(self, body: types.CompileSmartModuleRequest) -> types.CompileSmartModuleResponse:
        """Compile a source without deploying it; says line and column of what is wrong."""
        return cast("types.CompileSmartModuleResponse", self._transport.call("POST", "/smartmodules/compile", body=body, is_read=True))

    def test(self, body: types.TestSmartModuleRequest) -> types.TestSmartModuleResponse:
        """Run records, given or of a stream or pipeline, through steps that need not be deployed; writes nothing."""
        return cast("types.TestSmartModuleResponse", self._transport.call("POST", "/smartmodules/test", body=body, is_read=True))

    def deploy(self, body: types.DeploySmartModuleRequest, *, idempotency_key: str | None = None) -> types.DeploySmartModuleResponse:
        """Deploy a SmartModule, as WebAssembly or as a source; under an existing name it becomes the next version."""
        return cast("types.DeploySmartModuleResponse", self._transport.call("POST", "/smartmodules", body=body, is_idempotent=True, idempotency_key=idempotency_key))

    def get(self, id_: str, *, on_tag: Callable[[str], object] | None = None) -> types.GetSmartModuleResponse:
        """Get one SmartModule."""
        return cast("types.GetSmartModuleResponse", self._transport.call("GET", f"/smartmodules/{segment(id_)}", on_tag=on_tag))

    def list_versions(self, id_: str, *, page: Union[int, None] = None, page_size: Union[int, None] = None, cursor: Union[str, None] = None, sort: Union[types.TimeSort, None] = None) -> types.ListSmartModuleVersionsResponse:
        """List the versions of a SmartModule, the newest first."""
        return cast("types.ListSmartModuleVersionsResponse", self._transport.call("GET", f"/smartmodules/{segment(id_)}/versions", query={"page": page, "page_size": page_size, "cursor": cursor, "sort": sort}))

    def all_versions(self, id_: str, *, sort: Union[types.TimeSort, None] = None) -> Iterator[types.SmartModuleVersion]:
        """Every item of `list_versions`; fetches pages as they are needed."""
        return all_of(lambda cursor: self.list_versions(id_, sort=sort, page_size=PAGE_SIZE, cursor=cursor), "versions")

    def get_version(self, id_: str, version: str, *, binary: Union[types.Flag, None] = None) -> types.GetSmartModuleVersionResponse:
        """Get one version of a SmartModule, with its source, or its binary."""
        return cast("types.GetSmartModuleVersionResponse", self._transport.call("GET", f"/smartmodules/{segment(id_)}/versions/{segment(version)}", query={"binary": binary}))

    def compare_versions(self, id_: str, body: types.CompareSmartModuleVersionsRequest) -> types.CompareSmartModuleVersionsResponse:
        """Run two versions, or two configs, over the same records of a stream, and list what differs; writes nothing."""
        return cast("types.CompareSmartModuleVersionsResponse", self._transport.call("POST", f"/smartmodules/{segment(id_)}/compare", body=body, is_read=True))

    def delete(self, id_: str, *, if_match: str | None = None) -> None:
        """Delete a SmartModule that no pipeline uses."""
        self._transport.call("DELETE", f"/smartmodules/{segment(id_)}", if_match=if_match)


class Connectors:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, page: Union[int, None] = None, page_size: Union[int, None] = None, name: Union[str, None] = None, sort: Union[types.ListSort, None] = None, kind: Union[types.ConnectorKind, None] = None) -> types.ListConnectorsResponse:
        """List connectors."""
        return cast("types.ListConnectorsResponse", self._transport.call("GET", "/connectors", query={"page": page, "page_size": page_size, "name": name, "sort": sort, "kind": kind}))

    def get(self, id_: str) -> types.GetConnectorResponse:
        """Get one connector with the JSON Schema of its config."""
        return cast("types.GetConnectorResponse", self._transport.call("GET", f"/connectors/{segment(id_)}"))

    def validate(self, id_: str, body: types.ConnectorConfigRequest) -> types.ValidateConnectorResponse:
        """Validate a config field by field, without connecting to anything."""
        return cast("types.ValidateConnectorResponse", self._transport.call("POST", f"/connectors/{segment(id_)}/validate", body=body, is_read=True))

    def check(self, id_: str, body: types.ConnectorConfigRequest) -> types.CheckConnectorResponse:
        """Check a config by connecting and reading metadata: writes nothing, moves no position, gives up after a few seconds."""
        return cast("types.CheckConnectorResponse", self._transport.call("POST", f"/connectors/{segment(id_)}/check", body=body, is_read=True))


class Manifests:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> types.ListManifestsResponse:
        """All sets, with how many members of each kind they own."""
        return cast("types.ListManifestsResponse", self._transport.call("GET", "/manifests"))

    def plan(self, body: types.PlanManifestRequest) -> types.ManifestPlan:
        """What applying a manifest would change; changes nothing."""
        return cast("types.ManifestPlan", self._transport.call("POST", "/manifests/plan", body=body, is_read=True))

    def apply(self, body: types.ApplyManifestRequest) -> types.ManifestPlan:
        """Make the changes that a plan of the manifest names; 409 where the plan with this hash is out of date, and nothing is changed."""
        return cast("types.ManifestPlan", self._transport.call("POST", "/manifests/apply", body=body))

    def get(self, id_: str) -> types.GetManifestResponse:
        """The set as a manifest, whose plan would change nothing; `id` is the set’s name; 409 where it is larger than a manifest may be."""
        return cast("types.GetManifestResponse", self._transport.call("GET", f"/manifests/{segment(id_)}"))


class Overview:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self) -> types.GetOverviewResponse:
        """All pipelines with status, reason, rate, lag and dead letters; those that need attention come first."""
        return cast("types.GetOverviewResponse", self._transport.call("GET", "/overview"))


class Lineage:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self) -> types.GetLineageResponse:
        """What flows where: every pipeline between what it reads and what it writes."""
        return cast("types.GetLineageResponse", self._transport.call("GET", "/lineage"))


class Events:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def follow(self, *, last_event_id: str | None = None) -> Generator[Event, None, None]:
        """All pipelines and unfinished jobs at first (`snapshot`), then each pipeline whose status, rate, lag or dead letters change, and each job that moves on, as server-sent events; about one look a second."""
        return listen(self._transport, "/events", {}, last_event_id)


class Pipelines:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, page: Union[int, None] = None, page_size: Union[int, None] = None, name: Union[str, None] = None, status: Union[str, None] = None, sort: Union[types.ListSort, None] = None, cursor: Union[str, None] = None, module_id: Union[str, None] = None) -> types.ListPipelinesResponse:
        """List pipelines."""
        return cast("types.ListPipelinesResponse", self._transport.call("GET", "/pipelines", query={"page": page, "page_size": page_size, "name": name, "status": status, "sort": sort, "cursor": cursor, "module_id": module_id}))

    def all(self, *, name: Union[str, None] = None, status: Union[str, None] = None, sort: Union[types.ListSort, None] = None, module_id: Union[str, None] = None) -> Iterator[types.PipelineItem]:
        """Every item of `list`; fetches pages as they are needed."""
        return all_of(lambda cursor: self.list(name=name, status=status, sort=sort, module_id=module_id, page_size=PAGE_SIZE, cursor=cursor), "pipelines")

    def create(self, body: types.PipelineRequest, *, check: Union[types.Flag, None] = None, idempotency_key: str | None = None) -> types.CreatePipelineResponse:
        """Create a pipeline and, unless autostart is false, start it."""
        return cast("types.CreatePipelineResponse", self._transport.call("POST", "/pipelines", query={"check": check}, body=body, is_idempotent=True, idempotency_key=idempotency_key))

    def get(self, id_: str, *, on_tag: Callable[[str], object] | None = None) -> types.Pipeline:
        """Get one pipeline."""
        return cast("types.Pipeline", self._transport.call("GET", f"/pipelines/{segment(id_)}", on_tag=on_tag))

    def update(self, id_: str, body: types.PipelineChange, *, check: Union[types.Flag, None] = None, if_match: str | None = None, on_tag: Callable[[str], object] | None = None) -> types.Pipeline:
        """Change a pipeline; a change of what it runs becomes its next revision, which running tasks adopt between two rounds."""
        return cast("types.Pipeline", self._transport.call("PATCH", f"/pipelines/{segment(id_)}", query={"check": check}, body=body, if_match=if_match, on_tag=on_tag))

    def plan(self, id_: str, body: types.PipelinePlanRequest, *, if_match: str | None = None) -> types.PlanPipelineResponse:
        """Say what a change of a pipeline would do, with every fault that the change itself would be refused for; writes nothing."""
        return cast("types.PlanPipelineResponse", self._transport.call("POST", f"/pipelines/{segment(id_)}/plan", body=body, is_read=True, if_match=if_match))

    def delete(self, id_: str, *, if_match: str | None = None) -> Union[types.DeletePipeline202Response, None]:
        """Stop and delete a pipeline."""
        return cast("Union[types.DeletePipeline202Response, None]", self._transport.call("DELETE", f"/pipelines/{segment(id_)}", if_match=if_match))

    def get_status(self, id_: str) -> types.GetPipelineStatusResponse:
        """The desired status, and what the tasks report: positions, lag, rates, counters."""
        return cast("types.GetPipelineStatusResponse", self._transport.call("GET", f"/pipelines/{segment(id_)}/status"))

    def start(self, id_: str, body: types.EmptyRequest | None = None, *, if_match: str | None = None) -> types.PipelineItem:
        """Start a created, stopped or failed pipeline."""
        return cast("types.PipelineItem", self._transport.call("POST", f"/pipelines/{segment(id_)}/start", body=body, if_match=if_match))

    def pause(self, id_: str, body: types.EmptyRequest | None = None, *, if_match: str | None = None) -> types.PipelineItem:
        """Pause after the current round."""
        return cast("types.PipelineItem", self._transport.call("POST", f"/pipelines/{segment(id_)}/pause", body=body, if_match=if_match))

    def resume(self, id_: str, body: types.EmptyRequest | None = None, *, if_match: str | None = None) -> types.PipelineItem:
        """Resume after a pause."""
        return cast("types.PipelineItem", self._transport.call("POST", f"/pipelines/{segment(id_)}/resume", body=body, if_match=if_match))

    def stop(self, id_: str, body: types.EmptyRequest | None = None, *, if_match: str | None = None) -> types.PipelineItem:
        """Stop after the current round."""
        return cast("types.PipelineItem", self._transport.call("POST", f"/pipelines/{segment(id_)}/stop", body=body, if_match=if_match))

    def restart(self, id_: str, body: types.EmptyRequest | None = None, *, if_match: str | None = None) -> types.PipelineItem:
        """Restart the tasks."""
        return cast("types.PipelineItem", self._transport.call("POST", f"/pipelines/{segment(id_)}/restart", body=body, if_match=if_match))

    def get_offsets(self, id_: str) -> types.GetPipelineOffsetsResponse:
        """Position, end and lag of every partition of the source."""
        return cast("types.GetPipelineOffsetsResponse", self._transport.call("GET", f"/pipelines/{segment(id_)}/offsets"))

    def reset_offsets(self, id_: str, body: types.ResetOffsetsRequest, *, if_match: str | None = None) -> types.ResetOffsetsResponse:
        """Set where a stopped pipeline continues; a position that its sink keeps is set too."""
        return cast("types.ResetOffsetsResponse", self._transport.call("POST", f"/pipelines/{segment(id_)}/offsets", body=body, if_match=if_match))

    def get_accounting(self, id_: str) -> types.GetPipelineAccountingResponse:
        """Records by outcome: totals of the chain over all revisions, and counts per step of the current revision."""
        return cast("types.GetPipelineAccountingResponse", self._transport.call("GET", f"/pipelines/{segment(id_)}/accounting"))

    def get_metrics(self, id_: str) -> types.GetPipelineMetricsResponse:
        """Current rate, lag and totals."""
        return cast("types.GetPipelineMetricsResponse", self._transport.call("GET", f"/pipelines/{segment(id_)}/metrics"))

    def get_ledger(self, id_: str) -> types.GetPipelineLedgerResponse:
        """Which revision handled which offsets: each entry is the first offset of a partition that a revision handled."""
        return cast("types.GetPipelineLedgerResponse", self._transport.call("GET", f"/pipelines/{segment(id_)}/ledger"))

    def get_history(self, id_: str) -> types.GetPipelineHistoryResponse:
        """Records by outcome and lag over the last hour, in steps of ten seconds, of the chain and of each of its steps."""
        return cast("types.GetPipelineHistoryResponse", self._transport.call("GET", f"/pipelines/{segment(id_)}/history"))

    def get_logs(self, id_: str, *, level: Union[types.LogLevel, None] = None, step: Union[int, None] = None, since: Union[str, None] = None, limit: Union[int, None] = None) -> types.GetPipelineLogsResponse:
        """What the pipeline’s SmartModules and tasks have logged, of the last day; with `follow`, also what they log from now on."""
        return cast("types.GetPipelineLogsResponse", self._transport.call("GET", f"/pipelines/{segment(id_)}/logs", query={"level": level, "step": step, "since": since, "limit": limit}))

    def follow_logs(self, id_: str, *, level: Union[types.LogLevel, None] = None, step: Union[int, None] = None, since: Union[str, None] = None, limit: Union[int, None] = None, last_event_id: str | None = None) -> Generator[Event, None, None]:
        """What the pipeline’s SmartModules and tasks have logged, of the last day; with `follow`, also what they log from now on."""
        return listen(self._transport, f"/pipelines/{segment(id_)}/logs", {"level": level, "step": step, "since": since, "limit": limit, "follow": "true"}, last_event_id)

    def tail(self, id_: str, *, filter: Union[str, None] = None, last: Union[int, None] = None, at: Union[str, None] = None, last_event_id: str | None = None) -> Generator[Event, None, None]:
        """Records as they pass a place of the pipeline, as server-sent events: sampled where they are many, resumable by Last-Event-ID."""
        return listen(self._transport, f"/pipelines/{segment(id_)}/tail", {"filter": filter, "last": last, "at": at}, last_event_id)

    def explain_record(self, id_: str, *, partition: int, offset: int, revision: Union[int, None] = None) -> types.ExplainRecordResponse:
        """Run one source record again through the revision that handled it, or another one, and report what each step did."""
        return cast("types.ExplainRecordResponse", self._transport.call("GET", f"/pipelines/{segment(id_)}/explain", query={"partition": partition, "offset": offset, "revision": revision}))

    def preview(self, id_: str, body: types.PreviewRequest | None = None) -> types.PreviewPipelineResponse:
        """Run a chain over real records of the source, or over dead letters; writes and commits nothing."""
        return cast("types.PreviewPipelineResponse", self._transport.call("POST", f"/pipelines/{segment(id_)}/preview", body=body, is_read=True))

    def get_canary(self, id_: str) -> types.GetCanaryResponse:
        """Get what the canary has found: how many records would differ, and examples."""
        return cast("types.GetCanaryResponse", self._transport.call("GET", f"/pipelines/{segment(id_)}/canary"))

    def promote_canary(self, id_: str, *, if_match: str | None = None, on_tag: Callable[[str], object] | None = None) -> types.Pipeline:
        """Make the canary’s version the running one: the next revision, which running tasks adopt between two rounds."""
        return cast("types.Pipeline", self._transport.call("POST", f"/pipelines/{segment(id_)}/canary/promote", if_match=if_match, on_tag=on_tag))

    def list_dead_letters(self, id_: str, *, page: Union[int, None] = None, page_size: Union[int, None] = None, cursor: Union[str, None] = None, sort: Union[Literal["failed_at", "-failed_at"], None] = None, step: Union[int, None] = None, error: Union[str, None] = None, module: Union[str, None] = None, version: Union[str, None] = None, pattern: Union[str, None] = None, status: Union[types.DeadLetterStatus, None] = None, partition: Union[int, None] = None, from_: Union[str, None] = None, to: Union[str, None] = None) -> types.ListDeadLettersResponse:
        """List the dead letters of a pipeline."""
        return cast("types.ListDeadLettersResponse", self._transport.call("GET", f"/pipelines/{segment(id_)}/dead-letters", query={"page": page, "page_size": page_size, "cursor": cursor, "sort": sort, "step": step, "error": error, "module": module, "version": version, "pattern": pattern, "status": status, "partition": partition, "from": from_, "to": to}))

    def all_dead_letters(self, id_: str, *, sort: Union[Literal["failed_at", "-failed_at"], None] = None, step: Union[int, None] = None, error: Union[str, None] = None, module: Union[str, None] = None, version: Union[str, None] = None, pattern: Union[str, None] = None, status: Union[types.DeadLetterStatus, None] = None, partition: Union[int, None] = None, from_: Union[str, None] = None, to: Union[str, None] = None) -> Iterator[types.DeadLetter]:
        """Every item of `list_dead_letters`; fetches pages as they are needed."""
        return all_of(lambda cursor: self.list_dead_letters(id_, sort=sort, step=step, error=error, module=module, version=version, pattern=pattern, status=status, partition=partition, from_=from_, to=to, page_size=PAGE_SIZE, cursor=cursor), "dead_letters")

    def redrive_dead_letters(self, id_: str, body: types.RedriveRequest | None = None, *, idempotency_key: str | None = None) -> Union[types.RedriveDeadLetters200Response, types.RedriveDeadLetters202Response]:
        """Run dead letters through the whole chain of the current revision again: selected by id, by filter, or all that are pending."""
        return cast("Union[types.RedriveDeadLetters200Response, types.RedriveDeadLetters202Response]", self._transport.call("POST", f"/pipelines/{segment(id_)}/dead-letters/redrive", body=body, is_idempotent=True, idempotency_key=idempotency_key))

    def list_dead_letter_groups(self, id_: str, *, status: Union[types.DeadLetterStatus, None] = None, from_: Union[str, None] = None, to: Union[str, None] = None) -> types.ListDeadLetterGroupsResponse:
        """Count dead letters by step, version, error and pattern of the message; the largest groups first, at most 100."""
        return cast("types.ListDeadLetterGroupsResponse", self._transport.call("GET", f"/pipelines/{segment(id_)}/dead-letters/groups", query={"status": status, "from": from_, "to": to}))

    def get_dead_letter(self, id_: str, dead_letter_id: str) -> types.DeadLetter:
        """Get one dead letter."""
        return cast("types.DeadLetter", self._transport.call("GET", f"/pipelines/{segment(id_)}/dead-letters/{segment(dead_letter_id)}"))

    def replay(self, id_: str, body: types.ReplayRequest | None = None, *, idempotency_key: str | None = None) -> types.Job:
        """Run a part of the source through the chain of the current revision again, beside the pipeline."""
        return cast("types.Job", self._transport.call("POST", f"/pipelines/{segment(id_)}/replay", body=body, is_idempotent=True, idempotency_key=idempotency_key))


class Jobs:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, page: Union[int, None] = None, page_size: Union[int, None] = None, status: Union[str, None] = None, sort: Union[types.TimeSort, None] = None, cursor: Union[str, None] = None, pipeline_id: Union[str, None] = None) -> types.ListJobsResponse:
        """List jobs."""
        return cast("types.ListJobsResponse", self._transport.call("GET", "/jobs", query={"page": page, "page_size": page_size, "status": status, "sort": sort, "cursor": cursor, "pipeline_id": pipeline_id}))

    def all(self, *, status: Union[str, None] = None, sort: Union[types.TimeSort, None] = None, pipeline_id: Union[str, None] = None) -> Iterator[types.Job]:
        """Every item of `list`; fetches pages as they are needed."""
        return all_of(lambda cursor: self.list(status=status, sort=sort, pipeline_id=pipeline_id, page_size=PAGE_SIZE, cursor=cursor), "jobs")

    def get(self, id_: str) -> types.Job:
        """Get one job."""
        return cast("types.Job", self._transport.call("GET", f"/jobs/{segment(id_)}"))

    def cancel(self, id_: str, body: types.EmptyRequest | None = None) -> types.Job:
        """Cancel a job after its current round; what it has committed is kept."""
        return cast("types.Job", self._transport.call("POST", f"/jobs/{segment(id_)}/cancel", body=body))


class Session:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self) -> types.Session:
        """Who the caller is, and what it may do."""
        return cast("types.Session", self._transport.call("GET", "/session"))

    def delete(self) -> None:
        """Sign out."""
        self._transport.call("DELETE", "/session")

    def change_password(self, body: types.ChangePasswordRequest) -> None:
        """Set one’s own password; ends one’s other sessions."""
        self._transport.call("POST", "/session/password", body=body)


class Members:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, page: Union[int, None] = None, page_size: Union[int, None] = None, name: Union[str, None] = None, sort: Union[types.ListSort, None] = None, cursor: Union[str, None] = None) -> types.ListMembersResponse:
        """List members."""
        return cast("types.ListMembersResponse", self._transport.call("GET", "/members", query={"page": page, "page_size": page_size, "name": name, "sort": sort, "cursor": cursor}))

    def all(self, *, name: Union[str, None] = None, sort: Union[types.ListSort, None] = None) -> Iterator[types.Member]:
        """Every item of `list`; fetches pages as they are needed."""
        return all_of(lambda cursor: self.list(name=name, sort=sort, page_size=PAGE_SIZE, cursor=cursor), "members")

    def create(self, body: types.CreateMemberRequest) -> types.CreateMemberResponse:
        """Invite a member; the invitation’s token is shown only in this response."""
        return cast("types.CreateMemberResponse", self._transport.call("POST", "/members", body=body))

    def get(self, id_: str) -> types.Member:
        """Get a member."""
        return cast("types.Member", self._transport.call("GET", f"/members/{segment(id_)}"))

    def update(self, id_: str, body: types.UpdateMemberRequest) -> types.Member:
        """Change a member’s name or role."""
        return cast("types.Member", self._transport.call("PATCH", f"/members/{segment(id_)}", body=body))

    def delete(self, id_: str) -> None:
        """Remove a member and end its sessions."""
        self._transport.call("DELETE", f"/members/{segment(id_)}")

    def create_link(self, id_: str) -> types.CreateMemberLinkResponse:
        """Make a link that signs the member in once, for an invitation that was lost or a forgotten password."""
        return cast("types.CreateMemberLinkResponse", self._transport.call("POST", f"/members/{segment(id_)}/link"))


class Secrets:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, page: Union[int, None] = None, page_size: Union[int, None] = None, name: Union[str, None] = None, sort: Union[types.ListSort, None] = None, cursor: Union[str, None] = None) -> types.ListSecretsResponse:
        """List secrets, without their values."""
        return cast("types.ListSecretsResponse", self._transport.call("GET", "/secrets", query={"page": page, "page_size": page_size, "name": name, "sort": sort, "cursor": cursor}))

    def all(self, *, name: Union[str, None] = None, sort: Union[types.ListSort, None] = None) -> Iterator[types.Secret]:
        """Every item of `list`; fetches pages as they are needed."""
        return all_of(lambda cursor: self.list(name=name, sort=sort, page_size=PAGE_SIZE, cursor=cursor), "secrets")

    def create(self, body: types.CreateSecretRequest, *, idempotency_key: str | None = None) -> types.Secret:
        """Store a secret; its value is never shown again."""
        return cast("types.Secret", self._transport.call("POST", "/secrets", body=body, is_idempotent=True, idempotency_key=idempotency_key))

    def get(self, id_: str, *, on_tag: Callable[[str], object] | None = None) -> types.Secret:
        """Get one secret, without its value."""
        return cast("types.Secret", self._transport.call("GET", f"/secrets/{segment(id_)}", on_tag=on_tag))

    def update(self, id_: str, body: types.UpdateSecretRequest, *, if_match: str | None = None, on_tag: Callable[[str], object] | None = None) -> types.Secret:
        """Change a secret’s value or description; pipelines that use it restart with a new value."""
        return cast("types.Secret", self._transport.call("PATCH", f"/secrets/{segment(id_)}", body=body, if_match=if_match, on_tag=on_tag))

    def delete(self, id_: str, *, if_match: str | None = None) -> None:
        """Delete a secret that no pipeline uses."""
        self._transport.call("DELETE", f"/secrets/{segment(id_)}", if_match=if_match)


class Streams:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, page: Union[int, None] = None, page_size: Union[int, None] = None, name: Union[str, None] = None, status: Union[str, None] = None, sort: Union[types.ListSort, None] = None, cursor: Union[str, None] = None) -> types.ListStreamsResponse:
        """List streams."""
        return cast("types.ListStreamsResponse", self._transport.call("GET", "/streams", query={"page": page, "page_size": page_size, "name": name, "status": status, "sort": sort, "cursor": cursor}))

    def all(self, *, name: Union[str, None] = None, status: Union[str, None] = None, sort: Union[types.ListSort, None] = None) -> Iterator[types.StreamItem]:
        """Every item of `list`; fetches pages as they are needed."""
        return all_of(lambda cursor: self.list(name=name, status=status, sort=sort, page_size=PAGE_SIZE, cursor=cursor), "streams")

    def create(self, body: types.StreamRequest, *, idempotency_key: str | None = None) -> types.CreateStreamResponse:
        """Create a stream: a Kafka topic, new or adopted, with a registered schema."""
        return cast("types.CreateStreamResponse", self._transport.call("POST", "/streams", body=body, is_idempotent=True, idempotency_key=idempotency_key))

    def get(self, id_: str, *, on_tag: Callable[[str], object] | None = None) -> types.Stream:
        """Get one stream."""
        return cast("types.Stream", self._transport.call("GET", f"/streams/{segment(id_)}", on_tag=on_tag))

    def update(self, id_: str, body: types.UpdateStreamRequest, *, if_match: str | None = None, on_tag: Callable[[str], object] | None = None) -> types.Stream:
        """Change a stream’s description, or its schema as its compatibility mode allows; 409 names every conflicting field."""
        return cast("types.Stream", self._transport.call("PATCH", f"/streams/{segment(id_)}", body=body, if_match=if_match, on_tag=on_tag))

    def list_schemas(self, id_: str) -> types.ListStreamSchemasResponse:
        """List the schemas that a stream has had, the newest first: as many as fit 2 MiB, the current one always."""
        return cast("types.ListStreamSchemasResponse", self._transport.call("GET", f"/streams/{segment(id_)}/schemas"))

    def check_schema(self, id_: str, body: types.CheckStreamSchemaRequest) -> types.CheckStreamSchemaResponse:
        """What changing to a schema would break: its compatibility, and the pipelines whose configs name changed fields."""
        return cast("types.CheckStreamSchemaResponse", self._transport.call("POST", f"/streams/{segment(id_)}/schemas/check", body=body, is_read=True))

    def delete(self, id_: str, *, if_match: str | None = None) -> None:
        """Delete a stream that no pipeline uses, with its data; an adopted topic and its schemas are kept."""
        self._transport.call("DELETE", f"/streams/{segment(id_)}", if_match=if_match)

    def get_data(self, id_: str, *, limit: Union[int, None] = None, page: Union[int, None] = None, cursor: Union[str, None] = None, partition: Union[int, None] = None, order: Union[Literal["asc", "desc"], None] = None) -> types.GetStreamDataResponse:
        """Read a page of a stream’s records, each page sorted by time; with a cursor, pages follow one another by time too."""
        return cast("types.GetStreamDataResponse", self._transport.call("GET", f"/streams/{segment(id_)}/data", query={"limit": limit, "page": page, "cursor": cursor, "partition": partition, "order": order}))

    def get_records(self, id_: str, *, from_: Union[Literal["earliest", "latest"], None] = None, timestamp: Union[str, None] = None, partition: Union[int, None] = None, offset: Union[int, None] = None, key: Union[str, None] = None, before: Union[str, None] = None, after: Union[str, None] = None, limit: Union[int, None] = None) -> types.GetStreamRecordsResponse:
        """Read records with partition, offset, time, key, headers and the bytes of the value; the newest by default, oldest first."""
        return cast("types.GetStreamRecordsResponse", self._transport.call("GET", f"/streams/{segment(id_)}/records", query={"from": from_, "timestamp": timestamp, "partition": partition, "offset": offset, "key": key, "before": before, "after": after, "limit": limit}))

    def tail(self, id_: str, *, filter: Union[str, None] = None, last: Union[int, None] = None, last_event_id: str | None = None) -> Generator[Event, None, None]:
        """A stream’s records as they are written, as server-sent events: sampled where they are many, resumable by Last-Event-ID."""
        return listen(self._transport, f"/streams/{segment(id_)}/tail", {"filter": filter, "last": last}, last_event_id)

    def write_data(self, id_: str, body: types.WriteStreamDataRequest, *, idempotency_key: str | None = None) -> types.WriteStreamDataResponse:
        """Write records, all or none."""
        return cast("types.WriteStreamDataResponse", self._transport.call("POST", f"/streams/{segment(id_)}/data", body=body, is_idempotent=True, idempotency_key=idempotency_key))


class Resources:
    """All of them."""

    def __init__(self, transport: Transport) -> None:
        self.account = Account(transport)
        self.keys = Keys(transport)
        self.audit = Audit(transport)
        self.smartmodules = Smartmodules(transport)
        self.connectors = Connectors(transport)
        self.manifests = Manifests(transport)
        self.overview = Overview(transport)
        self.lineage = Lineage(transport)
        self.events = Events(transport)
        self.pipelines = Pipelines(transport)
        self.jobs = Jobs(transport)
        self.session = Session(transport)
        self.members = Members(transport)
        self.secrets = Secrets(transport)
        self.streams = Streams(transport)
