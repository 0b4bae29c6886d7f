# Generated from the contracts in shared/api by `make clients`. Changes belong there.
"""What the service takes and answers."""

from typing import Any, List, Literal, NotRequired, TypedDict, Union

Account = TypedDict("Account", {
    "id": "str",
    "name": "str",
    "type": "Literal[\"developer\", \"professional\", \"enterprise\"]",
    "created_at": "str",
    "requests_per_minute": "int",
    "quotas": "dict[str, Any]",
})

ApiKey = TypedDict("ApiKey", {
    "id": "str",
    "name": "str",
    "scopes": "List[Literal[\"pipelines:read\", \"pipelines:write\", \"smartmodules:read\", \"smartmodules:write\", \"streams:read\", \"streams:write\", \"connectors:read\", \"connectors:write\", \"secrets:read\", \"secrets:write\", \"secrets:use\", \"keys:read\", \"keys:write\", \"audit:read\"]]",
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
    "before": "Union[dict[str, Any], None]",
    "after": "Union[dict[str, Any], None]",
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
    "version": "str",
    "config": "NotRequired[dict[str, Any]]",
    "shadow": "NotRequired[Literal[True]]",
    "share": "NotRequired[float]",
    "max_failing": "NotRequired[float]",
    "max_differing": "NotRequired[float]",
})

CancelJobRequest = dict[str, Any]

ChangePasswordRequest = TypedDict("ChangePasswordRequest", {
    "password": "str",
    "current_password": "NotRequired[str]",
})

CheckConnectorRequest = TypedDict("CheckConnectorRequest", {
    "side": "NotRequired[Literal[\"source\", \"sink\"]]",
    "config": "NotRequired[dict[str, Any]]",
})

CheckConnectorResponse = TypedDict("CheckConnectorResponse", {
    "ok": "bool",
    "details": "List[dict[str, Any]]",
    "took_ms": "int",
})

CompareSmartModuleVersionsRequest = TypedDict("CompareSmartModuleVersionsRequest", {
    "before": "dict[str, Any]",
    "after": "dict[str, Any]",
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

CompileSmartModuleRequest = TypedDict("CompileSmartModuleRequest", {
    "source": "SmartModuleSource",
})

CompileSmartModuleResponse = TypedDict("CompileSmartModuleResponse", {
    "ok": "bool",
    "details": "List[dict[str, Any]]",
    "bytes": "NotRequired[int]",
    "sha256": "NotRequired[str]",
    "parameters": "NotRequired[dict[str, Any]]",
})

Connector = TypedDict("Connector", {
    "id": "str",
    "name": "str",
    "description": "str",
    "version": "str",
    "kind": "Literal[\"source\", \"sink\", \"both\"]",
    "created_at": "str",
})

CreateKeyRequest = TypedDict("CreateKeyRequest", {
    "name": "str",
    "scopes": "NotRequired[List[Literal[\"pipelines:read\", \"pipelines:write\", \"smartmodules:read\", \"smartmodules:write\", \"streams:read\", \"streams:write\", \"connectors:read\", \"connectors:write\", \"secrets:read\", \"secrets:write\", \"secrets:use\", \"keys:read\", \"keys:write\", \"audit:read\"]]]",
})

CreateKeyResponse = TypedDict("CreateKeyResponse", {
    "id": "str",
    "name": "str",
    "scopes": "List[Literal[\"pipelines:read\", \"pipelines:write\", \"smartmodules:read\", \"smartmodules:write\", \"streams:read\", \"streams:write\", \"connectors:read\", \"connectors:write\", \"secrets:read\", \"secrets:write\", \"secrets:use\", \"keys:read\", \"keys:write\", \"audit:read\"]]",
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
    "role": "Literal[\"owner\", \"editor\", \"viewer\"]",
})

CreateMemberResponse = TypedDict("CreateMemberResponse", {
    "id": "str",
    "name": "str",
    "email": "str",
    "role": "Literal[\"owner\", \"editor\", \"viewer\"]",
    "has_password": "bool",
    "created_at": "str",
    "sign_in_token": "str",
    "sign_in_expires_at": "str",
})

CreatePipelineResponse = TypedDict("CreatePipelineResponse", {
    "pipeline_id": "str",
    "name": "str",
    "status": "Literal[\"creating\", \"created\", \"starting\", \"running\", \"pausing\", \"paused\", \"stopping\", \"stopped\", \"failed\", \"deleting\"]",
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
    "status": "Literal[\"creating\", \"active\", \"failed\", \"deleting\"]",
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
    "error": "dict[str, Any]",
    "attempts": "int",
    "redrives": "int",
    "failed_at": "str",
    "key": "Union[dict[str, Any], None]",
    "value": "Union[dict[str, Any], None]",
    "headers": "List[dict[str, Any]]",
    "status": "Literal[\"pending\", \"redriving\", \"redriven\"]",
    "job_id": "Union[str, None]",
})

DeadLetterFilter = TypedDict("DeadLetterFilter", {
    "step": "NotRequired[int]",
    "error": "NotRequired[str]",
    "module": "NotRequired[str]",
    "version": "NotRequired[str]",
    "partition": "NotRequired[int]",
    "from": "NotRequired[str]",
    "to": "NotRequired[str]",
})

DeadLetterGroup = TypedDict("DeadLetterGroup", {
    "step": "int",
    "module": "str",
    "version": "str",
    "error_code": "str",
    "count": "int",
    "first_failed_at": "str",
    "last_failed_at": "str",
    "message": "str",
    "latest_id": "str",
})

DeletePipeline202Response = TypedDict("DeletePipeline202Response", {
    "pipeline_id": "str",
    "status": "Literal[\"creating\", \"created\", \"starting\", \"running\", \"pausing\", \"paused\", \"stopping\", \"stopped\", \"failed\", \"deleting\"]",
})

DeploySmartModuleRequest = TypedDict("DeploySmartModuleRequest", {
    "name": "str",
    "description": "NotRequired[str]",
    "version": "NotRequired[str]",
    "wasm_binary": "NotRequired[str]",
    "source": "NotRequired[SmartModuleSource]",
    "tests": "NotRequired[List[ModuleTest]]",
    "config": "NotRequired[dict[str, Any]]",
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

Error = TypedDict("Error", {
    "error": "dict[str, Any]",
})

ExplainRecordResponse = TypedDict("ExplainRecordResponse", {
    "partition": "int",
    "offset": "int",
    "outcome": "Literal[\"delivered\", \"filtered\", \"dead_letter\", \"skipped\", \"failed\"]",
    "reason": "str",
    "input": "TraceRecord",
    "outputs": "List[TraceRecord]",
    "steps": "List[TraceStep]",
    "truncated": "NotRequired[Literal[True]]",
    "pipeline_id": "str",
    "revision": "int",
    "handled": "bool",
    "dead_letter_ids": "List[str]",
    "redriven": "bool",
})

FleetSnapshot = TypedDict("FleetSnapshot", {
    "pipelines": "List[PipelineGlance]",
    "jobs": "List[Job]",
})

GetCanaryResponse = TypedDict("GetCanaryResponse", {
    "pipeline_id": "str",
    "step": "int",
    "module": "str",
    "version": "str",
    "running_version": "str",
    "config": "dict[str, Any]",
    "shadow": "bool",
    "share": "Union[float, None]",
    "handled": "int",
    "handled_failed": "int",
    "status": "Literal[\"comparing\", \"rolled_back\"]",
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
    "kind": "Literal[\"source\", \"sink\", \"both\"]",
    "created_at": "str",
    "config_schema": "dict[str, Any]",
    "source_schema": "NotRequired[dict[str, Any]]",
    "sink_schema": "NotRequired[dict[str, Any]]",
})

GetLineageResponse = TypedDict("GetLineageResponse", {
    "nodes": "List[LineageNode]",
    "pipelines": "List[LineagePipeline]",
})

GetManifestResponse = TypedDict("GetManifestResponse", {
    "manifest": "ShownManifest",
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
    "status": "Literal[\"creating\", \"created\", \"starting\", \"running\", \"pausing\", \"paused\", \"stopping\", \"stopped\", \"failed\", \"deleting\"]",
    "status_reason": "Union[str, None]",
    "desired": "str",
    "revision": "int",
    "lag": "int",
    "records_per_second": "float",
    "tasks": "List[dict[str, Any]]",
})

GetSmartModuleResponse = TypedDict("GetSmartModuleResponse", {
    "id": "str",
    "name": "str",
    "description": "str",
    "version": "str",
    "created_at": "str",
    "status": "str",
    "kind": "Literal[\"batch\", \"extism\", \"redpanda\", \"fluvio\"]",
    "sha256": "str",
    "bytes": "int",
    "built_in": "bool",
    "source": "NotRequired[dict[str, Any]]",
    "config": "dict[str, Any]",
})

GetSmartModuleVersionResponse = TypedDict("GetSmartModuleVersionResponse", {
    "version": "str",
    "kind": "Literal[\"batch\", \"extism\", \"redpanda\", \"fluvio\"]",
    "sha256": "str",
    "bytes": "int",
    "created_at": "str",
    "config": "dict[str, Any]",
    "source": "NotRequired[dict[str, Any]]",
    "tests": "NotRequired[List[ModuleTestShown]]",
    "wasm_binary": "NotRequired[str]",
})

GetStreamDataResponse = TypedDict("GetStreamDataResponse", {
    "data": "List[Any]",
    "pagination": "dict[str, Any]",
})

GetStreamRecordsResponse = TypedDict("GetStreamRecordsResponse", {
    "records": "List[dict[str, Any]]",
    "truncated": "NotRequired[Literal[True]]",
})

Job = TypedDict("Job", {
    "id": "str",
    "job_id": "str",
    "pipeline_id": "str",
    "kind": "Literal[\"redrive\", \"replay\"]",
    "status": "Literal[\"starting\", \"running\", \"cancelling\", \"finished\", \"cancelled\", \"failed\"]",
    "status_reason": "Union[str, None]",
    "revision": "int",
    "total": "int",
    "progress": "float",
    "records": "dict[str, Any]",
    "created_at": "str",
    "updated_at": "str",
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
    "status": "Literal[\"creating\", \"created\", \"starting\", \"running\", \"pausing\", \"paused\", \"stopping\", \"stopped\", \"failed\", \"deleting\"]",
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

ListStreamsResponse = TypedDict("ListStreamsResponse", {
    "streams": "List[StreamItem]",
    "total": "int",
    "page": "int",
    "page_size": "int",
    "next_cursor": "NotRequired[str]",
})

Manifest = TypedDict("Manifest", {
    "dps": "Literal[1]",
    "set": "str",
    "streams": "NotRequired[dict[str, Any]]",
    "smartmodules": "NotRequired[dict[str, Any]]",
    "pipelines": "NotRequired[dict[str, Any]]",
})

ManifestPipeline = TypedDict("ManifestPipeline", {
    "source": "dict[str, Any]",
    "steps": "NotRequired[List[ManifestStep]]",
    "sink": "dict[str, Any]",
    "description": "NotRequired[str]",
    "tasks": "NotRequired[int]",
    "autostart": "NotRequired[bool]",
    "start": "NotRequired[StreamPlace]",
    "on_error": "NotRequired[OnErrorRequest]",
    "failure_threshold": "NotRequired[float]",
    "on_lost_position": "NotRequired[Literal[\"fail\", \"earliest\"]]",
})

ManifestPlan = TypedDict("ManifestPlan", {
    "set": "str",
    "hash": "str",
    "changes": "List[PlannedChange]",
    "unchanged": "int",
})

ManifestSmartModule = TypedDict("ManifestSmartModule", {
    "description": "NotRequired[str]",
    "wasm_binary": "NotRequired[str]",
    "source": "NotRequired[SmartModuleSource]",
    "tests": "NotRequired[List[ModuleTest]]",
    "config": "NotRequired[dict[str, Any]]",
})

ManifestStep = TypedDict("ManifestStep", {
    "module": "str",
    "with": "NotRequired[dict[str, Any]]",
    "version": "NotRequired[str]",
    "on_error": "NotRequired[OnErrorRequest]",
    "timeout_ms": "NotRequired[int]",
    "changes_keys": "NotRequired[bool]",
})

ManifestStream = TypedDict("ManifestStream", {
    "description": "NotRequired[str]",
    "schema": "NotRequired[dict[str, Any]]",
    "schema_id": "NotRequired[int]",
    "topic": "NotRequired[str]",
    "partitions": "NotRequired[int]",
    "retention_ms": "NotRequired[int]",
    "compatibility": "NotRequired[Literal[\"BACKWARD\", \"BACKWARD_TRANSITIVE\", \"FORWARD\", \"FORWARD_TRANSITIVE\", \"FULL\", \"FULL_TRANSITIVE\", \"NONE\"]]",
    "format": "NotRequired[Literal[\"json\", \"avro\", \"protobuf\"]]",
    "key": "NotRequired[str]",
})

Member = TypedDict("Member", {
    "id": "str",
    "name": "str",
    "email": "str",
    "role": "Literal[\"owner\", \"editor\", \"viewer\"]",
    "has_password": "bool",
    "created_at": "str",
})

ModuleTest = TypedDict("ModuleTest", {
    "title": "NotRequired[str]",
    "config": "NotRequired[dict[str, Any]]",
    "records": "List[dict[str, Any]]",
    "out": "List[Any]",
    "failures": "NotRequired[List[str]]",
})

ModuleTestShown = TypedDict("ModuleTestShown", {
    "title": "str",
    "config": "dict[str, Any]",
    "records": "List[dict[str, Any]]",
    "out": "List[Any]",
    "failures": "List[str]",
})

OnErrorRequest = TypedDict("OnErrorRequest", {
    "policy": "NotRequired[Literal[\"dead_letter\", \"skip\", \"retry\", \"fail\"]]",
    "retries_max": "NotRequired[int]",
    "backoff_ms": "NotRequired[int]",
})

PartitionOffsets = dict[str, Any]

PausePipelineRequest = dict[str, Any]

Pipeline = TypedDict("Pipeline", {
    "id": "str",
    "pipeline_id": "str",
    "name": "str",
    "description": "str",
    "status": "Literal[\"creating\", \"created\", \"starting\", \"running\", \"pausing\", \"paused\", \"stopping\", \"stopped\", \"failed\", \"deleting\"]",
    "status_reason": "Union[str, None]",
    "revision": "int",
    "created_at": "str",
    "updated_at": "str",
    "source": "dict[str, Any]",
    "processors": "List[dict[str, Any]]",
    "sink": "dict[str, Any]",
    "tasks": "int",
    "on_error": "dict[str, Any]",
    "failure_threshold": "float",
    "on_lost_position": "Literal[\"fail\", \"earliest\"]",
})

PipelineChange = TypedDict("PipelineChange", {
    "name": "NotRequired[str]",
    "description": "NotRequired[str]",
    "processors": "NotRequired[List[ProcessorEntry]]",
    "sink": "NotRequired[dict[str, Any]]",
    "tasks": "NotRequired[int]",
    "on_error": "NotRequired[OnErrorRequest]",
    "failure_threshold": "NotRequired[float]",
    "on_lost_position": "NotRequired[Literal[\"fail\", \"earliest\"]]",
    "canary": "NotRequired[Union[CanaryRequest, None]]",
})

PipelineDeleted = TypedDict("PipelineDeleted", {
    "id": "str",
})

PipelineGlance = TypedDict("PipelineGlance", {
    "id": "str",
    "name": "str",
    "status": "Literal[\"creating\", \"created\", \"starting\", \"running\", \"pausing\", \"paused\", \"stopping\", \"stopped\", \"failed\", \"deleting\"]",
    "status_reason": "Union[str, None]",
    "desired": "Literal[\"running\", \"paused\", \"stopped\"]",
    "attention": "Union[str, None]",
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
    "status": "Literal[\"creating\", \"created\", \"starting\", \"running\", \"pausing\", \"paused\", \"stopping\", \"stopped\", \"failed\", \"deleting\"]",
    "status_reason": "Union[str, None]",
    "revision": "int",
    "created_at": "str",
    "updated_at": "str",
})

PipelineLog = TypedDict("PipelineLog", {
    "id": "str",
    "at": "str",
    "level": "Literal[\"debug\", \"info\", \"warn\", \"error\"]",
    "step": "Union[int, None]",
    "module": "Union[str, None]",
    "version": "Union[str, None]",
    "revision": "int",
    "role": "Literal[\"chain\", \"intake\"]",
    "task": "int",
    "job_id": "NotRequired[str]",
    "message": "str",
    "dropped": "NotRequired[int]",
})

PipelinePlanRequest = TypedDict("PipelinePlanRequest", {
    "name": "NotRequired[str]",
    "description": "NotRequired[str]",
    "processors": "NotRequired[List[ProcessorEntry]]",
    "sink": "NotRequired[dict[str, Any]]",
    "tasks": "NotRequired[int]",
    "on_error": "NotRequired[OnErrorRequest]",
    "failure_threshold": "NotRequired[float]",
    "on_lost_position": "NotRequired[Literal[\"fail\", \"earliest\"]]",
})

PipelineRequest = TypedDict("PipelineRequest", {
    "name": "str",
    "description": "NotRequired[str]",
    "source": "dict[str, Any]",
    "processors": "NotRequired[List[ProcessorEntry]]",
    "sink": "dict[str, Any]",
    "tasks": "NotRequired[int]",
    "autostart": "NotRequired[bool]",
    "start": "NotRequired[StreamPlace]",
    "on_error": "NotRequired[OnErrorRequest]",
    "failure_threshold": "NotRequired[float]",
    "on_lost_position": "NotRequired[Literal[\"fail\", \"earliest\"]]",
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

PlannedChange = TypedDict("PlannedChange", {
    "kind": "Literal[\"stream\", \"smartmodule\", \"pipeline\"]",
    "name": "str",
    "action": "Literal[\"create\", \"update\", \"replace\", \"adopt\", \"delete\"]",
    "effect": "Union[Literal[\"live\", \"reopen\", \"replace\"], None]",
    "adopts": "bool",
    "differences": "List[PlannedDifference]",
})

PlannedDifference = TypedDict("PlannedDifference", {
    "path": "str",
    "before": "Any",
    "after": "Any",
})

PreviewPipelineResponse = TypedDict("PreviewPipelineResponse", {
    "pipeline_id": "str",
    "records": "List[Trace]",
    "truncated": "NotRequired[Literal[True]]",
})

PreviewRequest = TypedDict("PreviewRequest", {
    "processors": "NotRequired[List[ProcessorEntry]]",
    "from": "NotRequired[StreamPlace]",
    "partition": "NotRequired[int]",
    "limit": "NotRequired[int]",
})

ProcessorEntry = TypedDict("ProcessorEntry", {
    "module_id": "str",
    "config": "NotRequired[dict[str, Any]]",
    "version": "NotRequired[str]",
    "on_error": "NotRequired[OnErrorRequest]",
    "timeout_ms": "NotRequired[int]",
    "changes_keys": "NotRequired[bool]",
})

RedriveDeadLetters200Response = TypedDict("RedriveDeadLetters200Response", {
    "dry_run": "bool",
    "count": "int",
})

RedriveDeadLetters202Response = TypedDict("RedriveDeadLetters202Response", {
    "id": "str",
    "job_id": "str",
    "pipeline_id": "str",
    "kind": "Literal[\"redrive\", \"replay\"]",
    "status": "Literal[\"starting\", \"running\", \"cancelling\", \"finished\", \"cancelled\", \"failed\"]",
    "status_reason": "Union[str, None]",
    "revision": "int",
    "total": "int",
    "progress": "float",
    "records": "dict[str, Any]",
    "created_at": "str",
    "updated_at": "str",
    "count": "int",
})

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

RestartPipelineRequest = dict[str, Any]

ResumePipelineRequest = dict[str, Any]

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
    "scopes": "List[Literal[\"pipelines:read\", \"pipelines:write\", \"smartmodules:read\", \"smartmodules:write\", \"streams:read\", \"streams:write\", \"connectors:read\", \"connectors:write\", \"secrets:read\", \"secrets:write\", \"secrets:use\", \"keys:read\", \"keys:write\", \"audit:read\"]]",
    "member": "Union[Member, None]",
    "expires_at": "Union[str, None]",
})

ShownManifest = TypedDict("ShownManifest", {
    "dps": "Literal[1]",
    "set": "str",
    "streams": "dict[str, Any]",
    "smartmodules": "dict[str, Any]",
    "pipelines": "dict[str, Any]",
})

SmartModuleItem = TypedDict("SmartModuleItem", {
    "id": "str",
    "name": "str",
    "description": "str",
    "version": "str",
    "created_at": "str",
})

SmartModuleSource = TypedDict("SmartModuleSource", {
    "language": "Literal[\"typescript\"]",
    "code": "str",
})

SmartModuleVersion = TypedDict("SmartModuleVersion", {
    "version": "str",
    "kind": "Literal[\"batch\", \"extism\", \"redpanda\", \"fluvio\"]",
    "sha256": "str",
    "bytes": "int",
    "created_at": "str",
})

StartPipelineRequest = dict[str, Any]

StopPipelineRequest = dict[str, Any]

Stream = TypedDict("Stream", {
    "id": "str",
    "name": "str",
    "description": "str",
    "status": "Literal[\"creating\", \"active\", \"failed\", \"deleting\"]",
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
    "is_adopted": "bool",
})

StreamItem = TypedDict("StreamItem", {
    "id": "str",
    "name": "str",
    "description": "str",
    "status": "Literal[\"creating\", \"active\", \"failed\", \"deleting\"]",
    "status_reason": "Union[str, None]",
    "created_at": "str",
    "updated_at": "str",
})

StreamPlace = Union[Literal["earliest", "latest"], dict[str, Any]]

StreamRequest = TypedDict("StreamRequest", {
    "name": "str",
    "description": "NotRequired[str]",
    "schema": "NotRequired[dict[str, Any]]",
    "schema_id": "NotRequired[int]",
    "topic": "NotRequired[str]",
    "partitions": "NotRequired[int]",
    "retention_ms": "NotRequired[int]",
    "compatibility": "NotRequired[Literal[\"BACKWARD\", \"BACKWARD_TRANSITIVE\", \"FORWARD\", \"FORWARD_TRANSITIVE\", \"FULL\", \"FULL_TRANSITIVE\", \"NONE\"]]",
    "format": "NotRequired[Literal[\"json\", \"avro\", \"protobuf\"]]",
    "key": "NotRequired[str]",
})

TailFrame = TypedDict("TailFrame", {
    "records": "List[TailRecord]",
    "sampled": "bool",
    "dropped": "int",
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
    "outcome": "Literal[\"passed\", \"changed\", \"filtered\", \"failed\", \"not_reached\"]",
    "reason": "str",
    "in": "List[TraceRecord]",
    "out": "List[TraceRecord]",
    "error": "Union[dict[str, Any], None]",
    "logs": "List[str]",
    "nanoseconds": "int",
    "memory_bytes": "int",
    "truncated": "NotRequired[Literal[True]]",
})

TailWaiting = TypedDict("TailWaiting", {
    "reason": "str",
})

TestSmartModuleRequest = TypedDict("TestSmartModuleRequest", {
    "processors": "List[dict[str, Any]]",
    "records": "NotRequired[List[dict[str, Any]]]",
    "stream_id": "NotRequired[str]",
    "from": "NotRequired[StreamPlace]",
    "partition": "NotRequired[int]",
    "limit": "NotRequired[int]",
})

TestSmartModuleResponse = TypedDict("TestSmartModuleResponse", {
    "records": "List[Trace]",
    "truncated": "NotRequired[Literal[True]]",
})

Trace = TypedDict("Trace", {
    "partition": "int",
    "offset": "int",
    "outcome": "Literal[\"delivered\", \"filtered\", \"dead_letter\", \"skipped\", \"failed\"]",
    "reason": "str",
    "input": "TraceRecord",
    "outputs": "List[TraceRecord]",
    "steps": "List[TraceStep]",
    "truncated": "NotRequired[Literal[True]]",
})

TraceRecord = TypedDict("TraceRecord", {
    "timestamp": "str",
    "key": "Union[dict[str, Any], None]",
    "value": "Union[dict[str, Any], None]",
    "headers": "List[dict[str, Any]]",
})

TraceStep = TypedDict("TraceStep", {
    "step": "int",
    "module": "str",
    "version": "str",
    "config": "dict[str, Any]",
    "outcome": "Literal[\"passed\", \"changed\", \"filtered\", \"failed\", \"not_reached\"]",
    "reason": "str",
    "in": "List[TraceRecord]",
    "out": "List[TraceRecord]",
    "error": "Union[dict[str, Any], None]",
    "logs": "List[str]",
    "nanoseconds": "int",
    "memory_bytes": "int",
})

UpdateMemberRequest = TypedDict("UpdateMemberRequest", {
    "name": "NotRequired[str]",
    "role": "NotRequired[Literal[\"owner\", \"editor\", \"viewer\"]]",
})

UpdateSecretRequest = TypedDict("UpdateSecretRequest", {
    "description": "NotRequired[str]",
    "value": "NotRequired[str]",
})

UpdateStreamRequest = TypedDict("UpdateStreamRequest", {
    "description": "NotRequired[str]",
    "schema": "NotRequired[dict[str, Any]]",
    "schema_id": "NotRequired[int]",
})

ValidateConnectorRequest = TypedDict("ValidateConnectorRequest", {
    "side": "NotRequired[Literal[\"source\", \"sink\"]]",
    "config": "NotRequired[dict[str, Any]]",
})

ValidateConnectorResponse = TypedDict("ValidateConnectorResponse", {
    "valid": "bool",
    "details": "List[dict[str, Any]]",
    "config": "NotRequired[dict[str, Any]]",
})

WriteStreamDataRequest = TypedDict("WriteStreamDataRequest", {
    "records": "List[Any]",
})

WriteStreamDataResponse = TypedDict("WriteStreamDataResponse", {
    "records": "int",
    "partitions": "List[dict[str, Any]]",
})
