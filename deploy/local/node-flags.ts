/**
 * Node's flags for a processor. Its heap is small but its external buffers are not, and V8 counts both when it decides to collect: with
 * the default initial heap it runs a full collection every few megabytes of records. The flag takes the cost of a million records from
 * 0.95 to 0.68 CPU-seconds (`make bench`).
 */
export const PROCESSOR_NODE_FLAGS = ['--initial-heap-size=512']

/**
 * Node's flags for a control plane. V8 finishes marking on several threads at once, and the main thread waits for the last of them. Where
 * accounts keep all cores busy these threads wait for a core: uploads of large SmartModules then stopped the event loop for up to 250 ms,
 * and for up to 100 ms with marking on the main thread alone. Where cores are free this costs 25 ms more in the longest pause.
 */
export const CONTROL_PLANE_NODE_FLAGS = ['--no-parallel-marking']
