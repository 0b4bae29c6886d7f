/**
 * How Node is started for a processor. Its heap is small, but the buffers behind it are not, and V8 collects by both together: with the
 * default start size it runs a full collection every few megabytes of records (0.95 → 0.68 CPU-seconds per million, `make bench`).
 */
export const PROCESSOR_NODE_FLAGS = ['--initial-heap-size=512']
