/** The two kinds of SmartModules (docs: smartmodule-abi). */
export const SMARTMODULE_KINDS = ['batch', 'extism'] as const
export type SmartModuleKind = (typeof SMARTMODULE_KINDS)[number]

/** Functions an Extism plug-in may export to be a step; the first one present is called. */
export const EXTISM_FUNCTIONS = ['filter', 'filter_map', 'array_map', 'map', 'process'] as const
export type ExtismFunction = (typeof EXTISM_FUNCTIONS)[number]
