/**
 * The kinds of SmartModules (docs/smartmodules.md): batch modules written with the SDK, Extism plug-ins, and modules made with the SDKs of
 * Redpanda's data transforms and of Fluvio.
 */
export const SMARTMODULE_KINDS = ['batch', 'extism', 'redpanda', 'fluvio'] as const
/** The kind of a SmartModule. */
export type SmartModuleKind = (typeof SMARTMODULE_KINDS)[number]

/** Functions that an Extism plug-in may export to serve as a step; the first one present is called. */
export const EXTISM_FUNCTIONS = ['filter', 'filter_map', 'array_map', 'map', 'process'] as const
/** The functions of which a Fluvio module exports one, in the order in which Fluvio looks for them. */
export const FLUVIO_FUNCTIONS = ['filter', 'map', 'filter_map', 'array_map'] as const
/** The function of an Extism plug-in that is called. */
export type ExtismFunction = (typeof EXTISM_FUNCTIONS)[number]
