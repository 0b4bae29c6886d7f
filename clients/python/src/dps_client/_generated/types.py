# Generated from the contracts in shared/api by `make clients`. Changes belong there.
"""What the service takes and answers."""

from typing import Any, List, Literal, NotRequired, TypedDict, Union, final

Account = TypedDict("Account", {
    "id": "str",
    "name": "str",
    "type": "AccountType",
    "created_at": "str",
    "requests_per_minute": "int",
    "quotas": "dict[str, Any]",
})

AccountType = Literal["developer", "professional", "enterprise"]

ApiKey = TypedDict("ApiKey", {
    "id": "str",
    "name": "str",
    "scopes": "List[Scope]",
    "created_at": "str",
})

ApplyManifestRequest = TypedDict("ApplyManifestRequest", {
    "manifest": "Manifest",
    "prune": "NotRequired[bool]",
    "replace": "NotRequired[List[str]]",
    "hash": "NotRequired[str]",
})

AuditEntry = TypedDict("AuditEntry", {
    "id": "str",
    "at": "str",
    "actor": "str",
    "operation": "str",
    "resource_id": "Union[str, None]",
    "address": "Union[str, None]",
    "request_id": "str",
    "status": "Union[int, None]",
    "before": "Union[JsonObject, None]",
    "after": "Union[JsonObject, None]",
})

Balance = TypedDict("Balance", {
    "in": "int",
    "out": "int",
    "filtered": "int",
    "skipped": "int",
    "dead_lettered": "int",
    "absorbed": "int",
    "in_flight": "int",
    "emitted": "int",
})

CanaryRequest = TypedDict("CanaryRequest", {
    "step": "int",
    "version": "NotRequired[str]",
    "config": "NotRequired[JsonObject]",
    "shadow": "NotRequired[Literal[True]]",
    "share": "NotRequired[float]",
    "max_failing": "NotRequired[float]",
    "max_differing": "NotRequired[float]",
})

ChangePasswordRequest = TypedDict("ChangePasswordRequest", {
    "password": "str",
    "current_password": "NotRequired[str]",
})

CheckConnectorResponse = TypedDict("CheckConnectorResponse", {
    "ok": "bool",
    "details": "List[ConfigFault]",
    "took_ms": "int",
})

CheckStreamSchemaRequest = TypedDict("CheckStreamSchemaRequest", {
    "schema": "NotRequired[StreamFieldsRequest]",
    "schema_id": "NotRequired[int]",
})

CheckStreamSchemaResponse = TypedDict("CheckStreamSchemaResponse", {
    "compatible": "bool",
    "details": "List[dict[str, Any]]",
    "pipelines": "List[SchemaUser]",
})

CompareSmartModuleVersionsRequest = TypedDict("CompareSmartModuleVersionsRequest", {
    "before": "ComparedVersion",
    "after": "ComparedVersion",
    "stream_id": "str",
    "from": "NotRequired[StreamPlace]",
    "partition": "NotRequired[int]",
    "limit": "NotRequired[int]",
})

CompareSmartModuleVersionsResponse = TypedDict("CompareSmartModuleVersionsResponse", {
    "compared": "int",
    "differing": "int",
    "failed": "int",
    "differences": "List[Difference]",
    "truncated": "NotRequired[Literal[True]]",
})

ComparedVersion = TypedDict("ComparedVersion", {
    "version": "NotRequired[str]",
    "config": "NotRequired[JsonObject]",
})

CompileSmartModuleRequest = TypedDict("CompileSmartModuleRequest", {
    "source": "SmartModuleSource",
})

CompileSmartModuleResponse = TypedDict("CompileSmartModuleResponse", {
    "ok": "bool",
    "details": "List[dict[str, Any]]",
    "bytes": "NotRequired[int]",
    "sha256": "NotRequired[str]",
    "parameters": "NotRequired[JsonObject]",
})

ConfigFault = TypedDict("ConfigFault", {
    "path": "str",
    "message": "str",
})

Connector = TypedDict("Connector", {
    "id": "str",
    "name": "str",
    "description": "str",
    "version": "str",
    "kind": "ConnectorKind",
    "created_at": "str",
})

ConnectorConfigRequest = TypedDict("ConnectorConfigRequest", {
    "side": "NotRequired[Literal[\"source\", \"sink\"]]",
    "config": "NotRequired[JsonObject]",
})

ConnectorKind = Literal["source", "sink", "both"]

CreateKeyRequest = TypedDict("CreateKeyRequest", {
    "name": "str",
    "scopes": "NotRequired[List[Scope]]",
})

CreateKeyResponse = TypedDict("CreateKeyResponse", {
    "id": "str",
    "name": "str",
    "scopes": "List[Scope]",
    "created_at": "str",
    "api_key": "str",
    "api_secret": "str",
})

CreateMemberLinkResponse = TypedDict("CreateMemberLinkResponse", {
    "sign_in_token": "str",
    "sign_in_expires_at": "str",
})

CreateMemberRequest = TypedDict("CreateMemberRequest", {
    "name": "str",
    "email": "str",
    "role": "MemberRole",
})

CreateMemberResponse = TypedDict("CreateMemberResponse", {
    "id": "str",
    "name": "str",
    "email": "str",
    "role": "MemberRole",
    "has_password": "bool",
    "has_provider": "bool",
    "created_at": "str",
    "sign_in_token": "str",
    "sign_in_expires_at": "str",
})

CreatePipelineResponse = TypedDict("CreatePipelineResponse", {
    "pipeline_id": "str",
    "name": "str",
    "status": "PipelineStatus",
    "created_at": "str",
})

CreateSecretRequest = TypedDict("CreateSecretRequest", {
    "name": "str",
    "description": "NotRequired[str]",
    "value": "str",
    "connectors": "NotRequired[List[str]]",
    "hosts": "NotRequired[List[str]]",
})

CreateStreamResponse = TypedDict("CreateStreamResponse", {
    "id": "str",
    "name": "str",
    "status": "StreamStatus",
    "created_at": "str",
})

DeadLetter = TypedDict("DeadLetter", {
    "id": "str",
    "partition": "int",
    "offset": "int",
    "step": "int",
    "module": "str",
    "version": "str",
    "revision": "int",
    "error": "RecordError",
    "attempts": "int",
    "redrives": "int",
    "failed_at": "str",
    "key": "Union[KeyBytes, None]",
    "value": "Union[ValueBytes, None]",
    "headers": "List[HeaderBytes]",
    "status": "DeadLetterStatus",
    "job_id": "Union[str, None]",
})

DeadLetterChoice = TypedDict("DeadLetterChoice", {
    "step": "NotRequired[int]",
    "error": "NotRequired[str]",
    "module": "NotRequired[str]",
    "version": "NotRequired[str]",
    "pattern": "NotRequired[str]",
    "partition": "NotRequired[int]",
    "from": "NotRequired[str]",
    "to": "NotRequired[str]",
    "ids": "NotRequired[List[str]]",
})

DeadLetterFilter = TypedDict("DeadLetterFilter", {
    "step": "NotRequired[int]",
    "error": "NotRequired[str]",
    "module": "NotRequired[str]",
    "version": "NotRequired[str]",
    "pattern": "NotRequired[str]",
    "partition": "NotRequired[int]",
    "from": "NotRequired[str]",
    "to": "NotRequired[str]",
})

DeadLetterGroup = TypedDict("DeadLetterGroup", {
    "step": "int",
    "module": "str",
    "version": "str",
    "error_code": "str",
    "pattern": "Union[str, None]",
    "count": "int",
    "first_failed_at": "str",
    "last_failed_at": "str",
    "message": "str",
    "latest_id": "str",
})

DeadLetterStatus = Literal["pending", "redriving", "redriven"]

DeletePipeline202Response = TypedDict("DeletePipeline202Response", {
    "pipeline_id": "str",
    "status": "PipelineStatus",
})

DeploySmartModuleRequest = TypedDict("DeploySmartModuleRequest", {
    "name": "str",
    "description": "NotRequired[str]",
    "version": "NotRequired[str]",
    "wasm_binary": "NotRequired[str]",
    "source": "NotRequired[SmartModuleSource]",
    "tests": "NotRequired[List[ModuleTest]]",
    "config": "NotRequired[SmartModuleConfigRequest]",
})

DeploySmartModuleResponse = TypedDict("DeploySmartModuleResponse", {
    "id": "str",
    "name": "str",
    "status": "str",
    "version": "str",
})

Difference = TypedDict("Difference", {
    "partition": "int",
    "offset": "int",
    "before": "TraceStep",
    "after": "TraceStep",
})

EmptyRequest = dict[str, Any]

Endpoint = TypedDict("Endpoint", {
    "connector_id": "str",
    "config": "JsonObject",
})

EndpointRequest = TypedDict("EndpointRequest", {
    "connector_id": "str",
    "config": "NotRequired[JsonObject]",
})

ErrorReply = TypedDict("ErrorReply", {
    "error": "dict[str, Any]",
})

ExplainRecordResponse = TypedDict("ExplainRecordResponse", {
    "partition": "int",
    "offset": "int",
    "outcome": "RecordOutcome",
    "reason": "str",
    "input": "TraceRecord",
    "outputs": "List[TraceRecord]",
    "steps": "List[TraceStep]",
    "truncated": "NotRequired[Literal[True]]",
    "pipeline_id": "str",
    "revision": "int",
    "handled": "bool",
    "uncertain": "NotRequired[str]",
    "dead_letter_ids": "List[str]",
    "redriven": "bool",
    "redrives": "List[dict[str, Any]]",
})

Flag = Literal["true", "false"]

GetCanaryResponse = TypedDict("GetCanaryResponse", {
    "pipeline_id": "str",
    "step": "int",
    "module": "str",
    "version": "str",
    "running_version": "str",
    "config": "JsonObject",
    "shadow": "bool",
    "share": "Union[float, None]",
    "handled": "int",
    "handled_failed": "int",
    "status": "Literal[\"comparing\", \"rolled_back\", \"promoted\"]",
    "status_reason": "Union[str, None]",
    "compared": "int",
    "differing": "int",
    "failed": "int",
    "skipped": "int",
    "max_failing": "float",
    "max_differing": "float",
    "examples": "List[Difference]",
    "created_at": "str",
    "updated_at": "str",
})

GetConnectorResponse = TypedDict("GetConnectorResponse", {
    "id": "str",
    "name": "str",
    "description": "str",
    "version": "str",
    "kind": "ConnectorKind",
    "created_at": "str",
    "config_schema": "JsonObject",
    "source_schema": "NotRequired[JsonObject]",
    "sink_schema": "NotRequired[JsonObject]",
    "checkable_sides": "List[Literal[\"source\", \"sink\"]]",
})

GetLineageResponse = TypedDict("GetLineageResponse", {
    "nodes": "List[LineageNode]",
    "pipelines": "List[LineagePipeline]",
})

GetManifestResponse = TypedDict("GetManifestResponse", {
    "manifest": "Manifest",
})

GetOverviewResponse = TypedDict("GetOverviewResponse", {
    "pipelines": "List[PipelineGlance]",
    "totals": "dict[str, Any]",
})

GetPipelineAccountingResponse = TypedDict("GetPipelineAccountingResponse", {
    "pipeline_id": "str",
    "revision": "int",
    "balanced": "bool",
    "totals": "Balance",
    "steps": "List[dict[str, Any]]",
    "partitions": "List[dict[str, Any]]",
})

GetPipelineHistoryResponse = TypedDict("GetPipelineHistoryResponse", {
    "pipeline_id": "str",
    "interval_seconds": "Literal[10]",
    "points": "List[dict[str, Any]]",
})

GetPipelineLedgerResponse = TypedDict("GetPipelineLedgerResponse", {
    "pipeline_id": "str",
    "entries": "List[dict[str, Any]]",
    "revisions": "List[dict[str, Any]]",
})

GetPipelineLogsResponse = TypedDict("GetPipelineLogsResponse", {
    "pipeline_id": "str",
    "logs": "List[PipelineLog]",
})

GetPipelineMetricsResponse = TypedDict("GetPipelineMetricsResponse", {
    "pipeline_id": "str",
    "records_per_second": "float",
    "lag": "int",
    "totals": "Balance",
    "modules": "List[dict[str, Any]]",
    "observed_at": "Union[str, None]",
})

GetPipelineOffsetsResponse = TypedDict("GetPipelineOffsetsResponse", {
    "pipeline_id": "str",
    "topic": "str",
    "group_id": "str",
    "lag": "int",
    "partitions": "List[dict[str, Any]]",
})

GetPipelineStatusResponse = TypedDict("GetPipelineStatusResponse", {
    "pipeline_id": "str",
    "status": "PipelineStatus",
    "status_reason": "Union[str, None]",
    "desired": "str",
    "has_canary": "bool",
    "revision": "int",
    "lag": "int",
    "records_per_second": "float",
    "tasks": "List[PipelineTask]",
})

GetSmartModuleResponse = TypedDict("GetSmartModuleResponse", {
    "id": "str",
    "name": "str",
    "description": "str",
    "version": "str",
    "created_at": "str",
    "status": "Literal[\"deployed\", \"quarantined\"]",
    "kind": "SmartModuleKind",
    "sha256": "str",
    "bytes": "int",
    "built_in": "bool",
    "source": "NotRequired[SmartModuleSourceShown]",
    "config": "JsonObject",
})

GetSmartModuleVersionResponse = TypedDict("GetSmartModuleVersionResponse", {
    "version": "str",
    "status": "Literal[\"deployed\", \"quarantined\"]",
    "kind": "SmartModuleKind",
    "sha256": "str",
    "bytes": "int",
    "created_at": "str",
    "config": "JsonObject",
    "source": "NotRequired[SmartModuleSourceShown]",
    "tests": "NotRequired[List[ModuleTestShown]]",
    "wasm_binary": "NotRequired[str]",
})

GetStreamDataResponse = TypedDict("GetStreamDataResponse", {
    "data": "List[Any]",
    "pagination": "dict[str, Any]",
})

GetStreamRecordsResponse = TypedDict("GetStreamRecordsResponse", {
    "records": "List[dict[str, Any]]",
    "older": "NotRequired[str]",
    "newer": "NotRequired[str]",
    "truncated": "NotRequired[Literal[True]]",
    "incomplete": "NotRequired[Literal[True]]",
})

HeaderBytes = TypedDict("HeaderBytes", {
    "key": "str",
    "base64": "Union[str, None]",
    "truncated": "NotRequired[Literal[True]]",
})

Job = TypedDict("Job", {
    "id": "str",
    "job_id": "str",
    "pipeline_id": "str",
    "kind": "JobKind",
    "status": "JobStatus",
    "status_reason": "Union[str, None]",
    "revision": "int",
    "total": "int",
    "progress": "float",
    "records": "RecordCounts",
    "created_at": "str",
    "updated_at": "str",
})

JobKind = Literal["redrive", "replay"]

JobStatus = Literal["starting", "running", "cancelling", "finished", "cancelled", "failed"]

JsonObject = dict[str, Any]

KeyBytes = TypedDict("KeyBytes", {
    "base64": "str",
    "text": "Union[str, None]",
    "truncated": "NotRequired[Literal[True]]",
})

LineageNode = TypedDict("LineageNode", {
    "id": "str",
    "kind": "Literal[\"stream\", \"connector\"]",
    "name": "str",
    "place": "NotRequired[str]",
})

LineagePipeline = TypedDict("LineagePipeline", {
    "id": "str",
    "name": "str",
    "status": "PipelineStatus",
    "from": "str",
    "to": "str",
    "modules": "List[str]",
})

ListAuditResponse = TypedDict("ListAuditResponse", {
    "entries": "List[AuditEntry]",
    "total": "int",
    "page": "int",
    "page_size": "int",
    "next_cursor": "NotRequired[str]",
})

ListConnectorsResponse = TypedDict("ListConnectorsResponse", {
    "connectors": "List[Connector]",
    "total": "int",
    "page": "int",
    "page_size": "int",
    "next_cursor": "NotRequired[str]",
})

ListDeadLetterGroupsResponse = TypedDict("ListDeadLetterGroupsResponse", {
    "pipeline_id": "str",
    "groups": "List[DeadLetterGroup]",
})

ListDeadLettersResponse = TypedDict("ListDeadLettersResponse", {
    "dead_letters": "List[DeadLetter]",
    "total": "int",
    "page": "int",
    "page_size": "int",
    "next_cursor": "NotRequired[str]",
    "truncated": "NotRequired[Literal[True]]",
})

ListJobsResponse = TypedDict("ListJobsResponse", {
    "jobs": "List[Job]",
    "total": "int",
    "page": "int",
    "page_size": "int",
    "next_cursor": "NotRequired[str]",
})

ListKeysResponse = TypedDict("ListKeysResponse", {
    "keys": "List[ApiKey]",
    "total": "int",
    "page": "int",
    "page_size": "int",
    "next_cursor": "NotRequired[str]",
})

ListManifestsResponse = TypedDict("ListManifestsResponse", {
    "sets": "List[ManifestSet]",
})

ListMembersResponse = TypedDict("ListMembersResponse", {
    "members": "List[Member]",
    "total": "int",
    "page": "int",
    "page_size": "int",
    "next_cursor": "NotRequired[str]",
})

ListPipelinesResponse = TypedDict("ListPipelinesResponse", {
    "pipelines": "List[PipelineItem]",
    "total": "int",
    "page": "int",
    "page_size": "int",
    "next_cursor": "NotRequired[str]",
})

ListSecretsResponse = TypedDict("ListSecretsResponse", {
    "secrets": "List[Secret]",
    "total": "int",
    "page": "int",
    "page_size": "int",
    "next_cursor": "NotRequired[str]",
})

ListSmartModuleVersionsResponse = TypedDict("ListSmartModuleVersionsResponse", {
    "versions": "List[SmartModuleVersion]",
    "total": "int",
    "page": "int",
    "page_size": "int",
    "next_cursor": "NotRequired[str]",
})

ListSmartModulesResponse = TypedDict("ListSmartModulesResponse", {
    "modules": "List[SmartModuleItem]",
    "total": "int",
    "page": "int",
    "page_size": "int",
    "next_cursor": "NotRequired[str]",
})

ListSort = Literal["created_at", "-created_at", "name", "-name"]

ListStreamSchemasResponse = TypedDict("ListStreamSchemasResponse", {
    "schemas": "List[StreamSchemaVersion]",
})

ListStreamsResponse = TypedDict("ListStreamsResponse", {
    "streams": "List[StreamItem]",
    "total": "int",
    "page": "int",
    "page_size": "int",
    "next_cursor": "NotRequired[str]",
})

LogLevel = Literal["debug", "info", "warn", "error"]

LostPositionPolicy = Literal["fail", "earliest"]

Manifest = TypedDict("Manifest", {
    "dps": "Literal[1]",
    "set": "str",
    "streams": "NotRequired[dict[str, Any]]",
    "smartmodules": "NotRequired[dict[str, Any]]",
    "pipelines": "NotRequired[dict[str, Any]]",
})

ManifestConnectorEnd = TypedDict("ManifestConnectorEnd", {
    "connector": "str",
    "with": "NotRequired[JsonObject]",
})

ManifestPipeline = TypedDict("ManifestPipeline", {
    "source": "Union[ManifestStreamSource, ManifestConnectorEnd]",
    "steps": "NotRequired[List[ManifestStep]]",
    "sink": "Union[ManifestStreamSink, ManifestConnectorEnd]",
    "description": "NotRequired[str]",
    "tasks": "NotRequired[int]",
    "autostart": "NotRequired[bool]",
    "start": "NotRequired[StreamPlace]",
    "on_error": "NotRequired[OnErrorRequest]",
    "failure_threshold": "NotRequired[float]",
    "on_lost_position": "NotRequired[LostPositionPolicy]",
})

ManifestPlan = TypedDict("ManifestPlan", {
    "set": "str",
    "hash": "str",
    "changes": "List[PlannedChange]",
    "unchanged": "int",
    "warnings": "NotRequired[List[PlanWarning]]",
})

ManifestSet = TypedDict("ManifestSet", {
    "set": "str",
    "streams": "int",
    "smartmodules": "int",
    "pipelines": "int",
})

ManifestSmartModule = TypedDict("ManifestSmartModule", {
    "description": "NotRequired[str]",
    "wasm_binary": "NotRequired[str]",
    "source": "NotRequired[SmartModuleSource]",
    "tests": "NotRequired[List[ModuleTest]]",
    "config": "NotRequired[SmartModuleConfigRequest]",
})

ManifestStep = TypedDict("ManifestStep", {
    "module": "str",
    "with": "NotRequired[JsonObject]",
    "version": "NotRequired[str]",
    "on_error": "NotRequired[OnErrorRequest]",
    "timeout_ms": "NotRequired[int]",
    "changes_keys": "NotRequired[bool]",
})

ManifestStream = TypedDict("ManifestStream", {
    "description": "NotRequired[str]",
    "schema": "NotRequired[StreamFieldsRequest]",
    "schema_id": "NotRequired[int]",
    "topic": "NotRequired[str]",
    "partitions": "NotRequired[int]",
    "retention_ms": "NotRequired[int]",
    "compatibility": "NotRequired[StreamCompatibility]",
    "format": "NotRequired[StreamFormat]",
    "message": "NotRequired[str]",
    "key": "NotRequired[str]",
})

ManifestStreamSink = TypedDict("ManifestStreamSink", {
    "stream": "str",
    "compression": "NotRequired[Literal[\"none\", \"gzip\", \"snappy\", \"lz4\", \"zstd\"]]",
})

ManifestStreamSource = TypedDict("ManifestStreamSource", {
    "stream": "str",
})

MeasureKind = Literal["count", "observe"]

Member = TypedDict("Member", {
    "id": "str",
    "name": "str",
    "email": "str",
    "role": "MemberRole",
    "has_password": "bool",
    "has_provider": "bool",
    "created_at": "str",
})

MemberRole = Literal["owner", "editor", "viewer"]

ModuleTest = TypedDict("ModuleTest", {
    "title": "NotRequired[str]",
    "config": "NotRequired[JsonObject]",
    "records": "List[TrialRecord]",
    "out": "List[Any]",
    "failures": "NotRequired[List[str]]",
})

ModuleTestShown = TypedDict("ModuleTestShown", {
    "title": "str",
    "config": "JsonObject",
    "records": "List[TrialRecordShown]",
    "out": "List[Any]",
    "failures": "List[str]",
})

OnError = TypedDict("OnError", {
    "policy": "OnErrorPolicy",
    "retries_max": "int",
    "backoff_ms": "int",
})

OnErrorPolicy = Literal["dead_letter", "skip", "retry", "fail"]

OnErrorRequest = TypedDict("OnErrorRequest", {
    "policy": "NotRequired[OnErrorPolicy]",
    "retries_max": "NotRequired[int]",
    "backoff_ms": "NotRequired[int]",
})

OverviewSnapshot = TypedDict("OverviewSnapshot", {
    "pipelines": "List[PipelineGlance]",
    "jobs": "List[Job]",
})

PartitionOffsets = dict[str, Any]

Pipeline = TypedDict("Pipeline", {
    "id": "str",
    "pipeline_id": "str",
    "name": "str",
    "description": "str",
    "status": "PipelineStatus",
    "status_reason": "Union[str, None]",
    "revision": "int",
    "created_at": "str",
    "updated_at": "str",
    "source": "Endpoint",
    "processors": "List[dict[str, Any]]",
    "sink": "Endpoint",
    "tasks": "int",
    "on_error": "OnError",
    "failure_threshold": "float",
    "on_lost_position": "LostPositionPolicy",
    "canary": "Union[PipelineCanary, None]",
})

PipelineCanary = TypedDict("PipelineCanary", {
    "step": "int",
    "version": "str",
    "share": "Union[float, None]",
    "status": "Literal[\"comparing\", \"rolled_back\", \"promoted\"]",
})

PipelineChange = TypedDict("PipelineChange", {
    "name": "NotRequired[str]",
    "description": "NotRequired[str]",
    "processors": "NotRequired[List[ProcessorEntry]]",
    "sink": "NotRequired[EndpointRequest]",
    "tasks": "NotRequired[int]",
    "on_error": "NotRequired[OnErrorRequest]",
    "failure_threshold": "NotRequired[float]",
    "on_lost_position": "NotRequired[LostPositionPolicy]",
    "canary": "NotRequired[Union[CanaryRequest, None]]",
})

PipelineDeleted = TypedDict("PipelineDeleted", {
    "id": "str",
})

PipelineGlance = TypedDict("PipelineGlance", {
    "id": "str",
    "name": "str",
    "status": "PipelineStatus",
    "status_reason": "Union[str, None]",
    "desired": "Literal[\"running\", \"paused\", \"stopped\"]",
    "attention": "Union[str, None]",
    "attention_rank": "Union[int, None]",
    "revision": "int",
    "records_per_second": "float",
    "lag": "int",
    "dead_letters": "int",
    "changed_at": "str",
})

PipelineItem = TypedDict("PipelineItem", {
    "id": "str",
    "pipeline_id": "str",
    "name": "str",
    "description": "str",
    "status": "PipelineStatus",
    "status_reason": "Union[str, None]",
    "revision": "int",
    "created_at": "str",
    "updated_at": "str",
})

PipelineLog = TypedDict("PipelineLog", {
    "id": "str",
    "at": "str",
    "level": "LogLevel",
    "step": "Union[int, None]",
    "module": "Union[str, None]",
    "version": "Union[str, None]",
    "revision": "int",
    "role": "TaskRole",
    "task": "int",
    "job_id": "NotRequired[str]",
    "message": "str",
    "dropped": "NotRequired[int]",
})

PipelinePlanRequest = TypedDict("PipelinePlanRequest", {
    "name": "NotRequired[str]",
    "description": "NotRequired[str]",
    "processors": "NotRequired[List[ProcessorEntry]]",
    "sink": "NotRequired[EndpointRequest]",
    "tasks": "NotRequired[int]",
    "on_error": "NotRequired[OnErrorRequest]",
    "failure_threshold": "NotRequired[float]",
    "on_lost_position": "NotRequired[LostPositionPolicy]",
})

PipelineRequest = TypedDict("PipelineRequest", {
    "name": "str",
    "description": "NotRequired[str]",
    "source": "EndpointRequest",
    "processors": "NotRequired[List[ProcessorEntry]]",
    "sink": "EndpointRequest",
    "tasks": "NotRequired[int]",
    "autostart": "NotRequired[bool]",
    "start": "NotRequired[StreamPlace]",
    "on_error": "NotRequired[OnErrorRequest]",
    "failure_threshold": "NotRequired[float]",
    "on_lost_position": "NotRequired[LostPositionPolicy]",
})

PipelineStatus = Literal["creating", "created", "starting", "running", "pausing", "paused", "stopping", "stopped", "failed", "deleting"]

PipelineTask = TypedDict("PipelineTask", {
    "role": "TaskRole",
    "task": "int",
    "processor_id": "str",
    "revision": "int",
    "status": "Literal[\"starting\", \"running\", \"paused\", \"stopped\", \"failed\", \"finished\"]",
    "reason": "Any",
    "at": "str",
    "records_per_second": "float",
    "in_flight": "float",
    "held_back": "bool",
    "quarantined": "List[str]",
    "measures": "List[TaskMeasure]",
    "partitions": "List[TaskPartition]",
})

PlanManifestRequest = TypedDict("PlanManifestRequest", {
    "manifest": "Manifest",
    "prune": "NotRequired[bool]",
    "replace": "NotRequired[List[str]]",
})

PlanPipelineResponse = TypedDict("PlanPipelineResponse", {
    "pipeline_id": "str",
    "revision": "int",
    "effect": "Literal[\"none\", \"live\", \"reopen\"]",
    "differences": "List[PlannedDifference]",
})

PlanWarning = TypedDict("PlanWarning", {
    "path": "str",
    "message": "str",
})

PlannedChange = TypedDict("PlannedChange", {
    "kind": "Literal[\"stream\", \"smartmodule\", \"pipeline\"]",
    "name": "str",
    "action": "Literal[\"create\", \"update\", \"replace\", \"adopt\", \"delete\"]",
    "effect": "Union[PlannedEffect, None]",
    "adopts": "bool",
    "differences": "List[PlannedDifference]",
})

PlannedDifference = TypedDict("PlannedDifference", {
    "path": "str",
    "before": "Any",
    "after": "Any",
})

PlannedEffect = Literal["live", "reopen", "replace"]

PreviewPipelineResponse = TypedDict("PreviewPipelineResponse", {
    "pipeline_id": "str",
    "records": "List[Trace]",
    "not_run": "NotRequired[int]",
    "truncated": "NotRequired[Literal[True]]",
    "total": "NotRequired[int]",
})

PreviewRequest = TypedDict("PreviewRequest", {
    "processors": "NotRequired[List[ProcessorEntry]]",
    "from": "NotRequired[StreamPlace]",
    "partition": "NotRequired[int]",
    "dead_letters": "NotRequired[DeadLetterChoice]",
    "limit": "NotRequired[int]",
})

ProcessorEntry = TypedDict("ProcessorEntry", {
    "module_id": "str",
    "config": "NotRequired[JsonObject]",
    "version": "NotRequired[str]",
    "on_error": "NotRequired[OnErrorRequest]",
    "timeout_ms": "NotRequired[int]",
    "changes_keys": "NotRequired[bool]",
})

Quota = TypedDict("Quota", {
    "limit": "int",
    "used": "Union[float, None]",
})

RecordCounts = TypedDict("RecordCounts", {
    "in": "float",
    "out": "float",
    "filtered": "float",
    "skipped": "float",
    "failed": "float",
    "absorbed": "float",
    "emitted": "float",
})

RecordError = TypedDict("RecordError", {
    "code": "str",
    "message": "str",
})

RecordOutcome = Literal["delivered", "filtered", "dead_letter", "skipped", "failed"]

@final
class RedriveDeadLetters200Response(TypedDict):
    dry_run: "bool"
    count: "int"

@final
class RedriveDeadLetters202Response(TypedDict):
    id: "str"
    job_id: "str"
    pipeline_id: "str"
    kind: "JobKind"
    status: "JobStatus"
    status_reason: "Union[str, None]"
    revision: "int"
    total: "int"
    progress: "float"
    records: "RecordCounts"
    created_at: "str"
    updated_at: "str"
    count: "int"

RedriveRequest = TypedDict("RedriveRequest", {
    "ids": "NotRequired[List[str]]",
    "filter": "NotRequired[DeadLetterFilter]",
    "dry_run": "NotRequired[bool]",
})

ReplayRequest = TypedDict("ReplayRequest", {
    "from": "NotRequired[StreamPlace]",
    "to": "NotRequired[StreamPlace]",
    "sink": "NotRequired[dict[str, Any]]",
    "records_per_second": "NotRequired[int]",
})

ResetOffsetsRequest = TypedDict("ResetOffsetsRequest", {
    "start": "StreamPlace",
})

ResetOffsetsResponse = TypedDict("ResetOffsetsResponse", {
    "pipeline_id": "str",
    "revision": "int",
    "offsets": "dict[str, Any]",
})

SchemaUser = TypedDict("SchemaUser", {
    "id": "str",
    "name": "str",
    "reads": "bool",
    "mentions": "List[dict[str, Any]]",
})

Scope = Literal["pipelines:read", "pipelines:write", "smartmodules:read", "smartmodules:write", "streams:read", "streams:write", "connectors:read", "connectors:write", "secrets:read", "secrets:write", "secrets:use", "keys:read", "keys:write", "audit:read"]

Secret = TypedDict("Secret", {
    "id": "str",
    "name": "str",
    "description": "str",
    "connectors": "Union[List[str], None]",
    "hosts": "Union[List[str], None]",
    "used_by": "List[str]",
    "created_at": "str",
    "updated_at": "str",
})

Session = TypedDict("Session", {
    "account": "dict[str, Any]",
    "scopes": "List[Scope]",
    "member": "Union[Member, None]",
    "expires_at": "Union[str, None]",
})

SmartModuleConfigRequest = TypedDict("SmartModuleConfigRequest", {
    "input_format": "NotRequired[ValueFormat]",
    "output_format": "NotRequired[ValueFormat]",
    "parameters": "NotRequired[JsonObject]",
    "allowed_hosts": "NotRequired[List[str]]",
})

SmartModuleItem = TypedDict("SmartModuleItem", {
    "id": "str",
    "name": "str",
    "description": "str",
    "version": "str",
    "created_at": "str",
})

SmartModuleKind = Literal["batch", "extism", "redpanda", "fluvio"]

SmartModuleSource = TypedDict("SmartModuleSource", {
    "language": "Literal[\"typescript\"]",
    "code": "str",
})

SmartModuleSourceShown = TypedDict("SmartModuleSourceShown", {
    "language": "Literal[\"typescript\"]",
    "code": "str",
})

SmartModuleVersion = TypedDict("SmartModuleVersion", {
    "version": "str",
    "status": "Literal[\"deployed\", \"quarantined\"]",
    "kind": "SmartModuleKind",
    "sha256": "str",
    "bytes": "int",
    "created_at": "str",
})

StepOutcome = Literal["passed", "changed", "filtered", "failed", "not_reached"]

Stream = TypedDict("Stream", {
    "id": "str",
    "name": "str",
    "description": "str",
    "status": "StreamStatus",
    "status_reason": "Union[str, None]",
    "created_at": "str",
    "updated_at": "str",
    "schema": "dict[str, Any]",
    "schema_id": "Union[int, None]",
    "topic": "str",
    "partitions": "int",
    "retention_ms": "int",
    "compatibility": "str",
    "format": "str",
    "key": "Union[str, None]",
    "message": "Union[str, None]",
    "is_adopted": "bool",
})

StreamCompatibility = Literal["BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE", "NONE"]

StreamEdge = Literal["earliest", "latest"]

StreamFieldsRequest = dict[str, Any]

StreamFormat = Literal["json", "avro", "protobuf"]

StreamItem = TypedDict("StreamItem", {
    "id": "str",
    "name": "str",
    "description": "str",
    "status": "StreamStatus",
    "status_reason": "Union[str, None]",
    "created_at": "str",
    "updated_at": "str",
})

StreamOffsets = TypedDict("StreamOffsets", {
    "offsets": "PartitionOffsets",
})

StreamPlace = Union["StreamEdge", "StreamTime", "StreamOffsets"]

StreamRequest = TypedDict("StreamRequest", {
    "name": "str",
    "description": "NotRequired[str]",
    "schema": "NotRequired[StreamFieldsRequest]",
    "schema_id": "NotRequired[int]",
    "topic": "NotRequired[str]",
    "partitions": "NotRequired[int]",
    "retention_ms": "NotRequired[int]",
    "compatibility": "NotRequired[StreamCompatibility]",
    "format": "NotRequired[StreamFormat]",
    "message": "NotRequired[str]",
    "key": "NotRequired[str]",
})

StreamSchemaVersion = TypedDict("StreamSchemaVersion", {
    "schema_id": "int",
    "schema": "dict[str, Any]",
    "is_current": "bool",
})

StreamStatus = Literal["creating", "active", "deleting"]

StreamTime = TypedDict("StreamTime", {
    "timestamp": "str",
})

TailFrame = TypedDict("TailFrame", {
    "records": "List[TailRecord]",
    "sampled": "bool",
    "dropped": "int",
    "undecided": "NotRequired[TailUndecided]",
})

TailRecord = TypedDict("TailRecord", {
    "partition": "int",
    "offset": "int",
    "record": "NotRequired[TraceRecord]",
    "step": "NotRequired[TailStep]",
    "error": "NotRequired[dict[str, Any]]",
})

TailStep = TypedDict("TailStep", {
    "step": "int",
    "module": "str",
    "version": "str",
    "outcome": "StepOutcome",
    "reason": "str",
    "in": "List[TraceRecord]",
    "out": "List[TraceRecord]",
    "error": "Union[RecordError, None]",
    "logs": "List[str]",
    "nanoseconds": "int",
    "memory_bytes": "int",
    "truncated": "NotRequired[Literal[True]]",
})

TailUndecided = TypedDict("TailUndecided", {
    "count": "int",
    "partition": "int",
    "offset": "int",
    "reason": "str",
})

TailWaiting = TypedDict("TailWaiting", {
    "reason": "str",
})

TaskMeasure = TypedDict("TaskMeasure", {
    "step": "int",
    "name": "str",
    "kind": "MeasureKind",
    "times": "float",
    "sum": "float",
})

TaskPartition = TypedDict("TaskPartition", {
    "partition": "int",
    "position": "str",
    "end": "str",
    "lag": "str",
    "steps": "List[RecordCounts]",
    "totals": "NotRequired[RecordCounts]",
})

TaskRole = Literal["chain", "intake"]

TestSmartModuleRequest = TypedDict("TestSmartModuleRequest", {
    "processors": "List[TrialStep]",
    "records": "NotRequired[List[TrialRecord]]",
    "stream_id": "NotRequired[str]",
    "pipeline_id": "NotRequired[str]",
    "from": "NotRequired[StreamPlace]",
    "partition": "NotRequired[int]",
    "dead_letters": "NotRequired[DeadLetterChoice]",
    "limit": "NotRequired[int]",
})

TestSmartModuleResponse = TypedDict("TestSmartModuleResponse", {
    "records": "List[Trace]",
    "not_run": "NotRequired[int]",
    "truncated": "NotRequired[Literal[True]]",
    "total": "NotRequired[int]",
})

TextHeaders = dict[str, Any]

TimeSort = Literal["created_at", "-created_at"]

Trace = TypedDict("Trace", {
    "partition": "int",
    "offset": "int",
    "outcome": "RecordOutcome",
    "reason": "str",
    "input": "TraceRecord",
    "outputs": "List[TraceRecord]",
    "steps": "List[TraceStep]",
    "truncated": "NotRequired[Literal[True]]",
    "dead_letter": "NotRequired[dict[str, Any]]",
})

TraceRecord = TypedDict("TraceRecord", {
    "timestamp": "str",
    "key": "Union[KeyBytes, None]",
    "value": "Union[ValueBytes, None]",
    "headers": "List[HeaderBytes]",
})

TraceStep = TypedDict("TraceStep", {
    "step": "int",
    "module": "str",
    "version": "str",
    "config": "JsonObject",
    "outcome": "StepOutcome",
    "reason": "str",
    "in": "List[TraceRecord]",
    "out": "List[TraceRecord]",
    "error": "Union[RecordError, None]",
    "logs": "List[str]",
    "nanoseconds": "int",
    "memory_bytes": "int",
})

TrialRecord = TypedDict("TrialRecord", {
    "key": "NotRequired[Union[str, None]]",
    "value": "Any",
    "headers": "NotRequired[TextHeaders]",
    "timestamp": "NotRequired[str]",
})

TrialRecordShown = TypedDict("TrialRecordShown", {
    "key": "Union[str, None]",
    "value": "Any",
    "headers": "TextHeaders",
    "timestamp": "NotRequired[str]",
})

TrialStep = TypedDict("TrialStep", {
    "module_id": "NotRequired[str]",
    "version": "NotRequired[str]",
    "source": "NotRequired[SmartModuleSource]",
    "wasm_binary": "NotRequired[str]",
    "input_format": "NotRequired[ValueFormat]",
    "output_format": "NotRequired[ValueFormat]",
    "config": "NotRequired[JsonObject]",
    "name": "NotRequired[str]",
    "allowed_hosts": "NotRequired[List[str]]",
})

UpdateMemberRequest = TypedDict("UpdateMemberRequest", {
    "name": "NotRequired[str]",
    "role": "NotRequired[MemberRole]",
})

UpdateSecretRequest = TypedDict("UpdateSecretRequest", {
    "description": "NotRequired[str]",
    "value": "NotRequired[str]",
})

UpdateStreamRequest = TypedDict("UpdateStreamRequest", {
    "description": "NotRequired[str]",
    "schema": "NotRequired[StreamFieldsRequest]",
    "schema_id": "NotRequired[int]",
})

ValidateConnectorResponse = TypedDict("ValidateConnectorResponse", {
    "valid": "bool",
    "details": "List[ConfigFault]",
    "config": "NotRequired[JsonObject]",
})

ValueBytes = TypedDict("ValueBytes", {
    "base64": "str",
    "json": "Any",
    "truncated": "NotRequired[Literal[True]]",
})

ValueFormat = Literal["json", "text", "bytes"]

WriteStreamDataRequest = TypedDict("WriteStreamDataRequest", {
    "records": "List[Any]",
})

WriteStreamDataResponse = TypedDict("WriteStreamDataResponse", {
    "records": "int",
    "partitions": "List[dict[str, Any]]",
})
