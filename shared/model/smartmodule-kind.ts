/** The two kinds of SmartModules (docs/smartmodules.md): batch modules written with the SDK, and Extism plug-ins. */
export const SMARTMODULE_KINDS = ['batch', 'extism'] as const
/** The kind of a SmartModule. */
export type SmartModuleKind = (typeof SMARTMODULE_KINDS)[number]

/** Functions that an Extism plug-in may export to serve as a step; the first one present is called. */
export const EXTISM_FUNCTIONS = ['filter', 'filter_map', 'array_map', 'map', 'process'] as const
/** The function of an Extism plug-in that is called. */
export type ExtismFunction = (typeof EXTISM_FUNCTIONS)[number]
