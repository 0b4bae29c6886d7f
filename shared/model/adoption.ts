/** Which topics, and which subjects of the registry, an account may make streams of: the operator says, by patterns. Pure. */

/** `<account id>/` before a pattern gives it to that account alone; a trailing `*` stands for any ending. */
export type AdoptionRules = { patterns: readonly string[]; prefix: string }

/** Never the service's own topics, nor Kafka's; others that systems keep for themselves (`_schemas`, for one) only by their own name. */
export function mayAdoptTopic({ patterns, prefix }: AdoptionRules, accountId: string, topic: string): boolean {
  if (topic.startsWith(`${prefix}.`) || topic.startsWith('__')) return false
  return patterns.some((rule) => {
    const slash = rule.indexOf('/')
    const pattern = rule.slice(slash + 1)
    if (slash >= 0 && rule.slice(0, slash) !== accountId) return false
    return pattern.endsWith('*') ? !topic.startsWith('_') && topic.startsWith(pattern.slice(0, -1)) : topic === pattern
  })
}

/** Schemas of the account's own streams, and of what it may adopt: subjects are named by their topic, or stand for themselves. */
export function mayUseSubject(rules: AdoptionRules, accountId: string, subject: string): boolean {
  return subject.startsWith(`${rules.prefix}.${accountId}.`) || mayAdoptTopic(rules, accountId, subject.replace(/-(key|value)$/, ''))
}
