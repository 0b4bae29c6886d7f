/** Where the nodes of a graph are drawn: in columns, each to the right of all that flow into it, as far as the graph has no circles. */

type Edge = { from: string; to: string }

/** By node, its column and its row, both from 0. Nodes of a column are ordered by what flows into them, so that few edges cross. */
export function layersOf(nodes: readonly string[], edges: readonly Edge[]): Map<string, { column: number; row: number }> {
  const into = new Map<string, string[]>(nodes.map((node) => [node, []]))
  for (const { from, to } of edges) into.get(to)?.push(from)
  const columns = new Map<string, number>()
  const open = new Set<string>()
  function columnOf(node: string): number {
    const known = columns.get(node)
    if (known !== undefined) return known
    // A circle: the edge that closes it goes backwards.
    if (open.has(node)) return -1
    open.add(node)
    const column = Math.max(0, ...(into.get(node) ?? []).map((from) => columnOf(from) + 1))
    open.delete(node)
    columns.set(node, column)
    return column
  }
  for (const node of nodes) columnOf(node)
  const places = new Map<string, { column: number; row: number }>()
  const last = Math.max(0, ...columns.values())
  for (let column = 0; column <= last; column++) {
    const own = nodes.filter((node) => columns.get(node) === column)
    const weight = (node: string): number => {
      const rows = (into.get(node) ?? []).flatMap((from) => places.get(from)?.row ?? [])
      return rows.length === 0 ? Infinity : rows.reduce((sum, row) => sum + row, 0) / rows.length
    }
    const weighted = own.map((node) => ({ node, at: weight(node) })).toSorted((a, b) => (a.at === b.at ? 0 : a.at - b.at))
    for (const [row, { node }] of weighted.entries()) places.set(node, { column, row })
  }
  return places
}

/** The nodes that are connected with one of these, in any direction, and these. */
export function connectedWith(start: readonly string[], edges: readonly Edge[]): Set<string> {
  const flowsFrom = Map.groupBy(edges, ({ from }) => from)
  const flowsTo = Map.groupBy(edges, ({ to }) => to)
  // A set is walked to its end, also over what is added meanwhile.
  const found = new Set(start)
  for (const node of found) {
    for (const { to } of flowsFrom.get(node) ?? []) found.add(to)
    for (const { from } of flowsTo.get(node) ?? []) found.add(from)
  }
  return found
}
