/**
 * Node's flags for a control plane, whose event loop must not stand still. V8 finishes marking on several threads at once, and the main
 * thread waits for the last of them: where accounts keep all cores busy these wait for a core, and uploads of large SmartModules stopped
 * the event loop for up to 250 ms; with marking on the main thread alone for up to 100. Where cores are free this costs 25 ms more in the
 * longest pause. What V8 collects once nothing is asked would move all objects together, which took another 100 ms.
 */
export const CONTROL_PLANE_NODE_FLAGS = ['--no-parallel-marking', '--no-memory-reducer-favors-memory']
