/** Which topics and registry subjects an account may use for streams, by the operator's patterns. Pure. */

/** A pattern is a topic's name; a trailing `*` matches any ending, and a leading `<account id>/` limits it to that account. */
export type AdoptionRules = { patterns: readonly string[]; prefix: string }

/**
 * True when a pattern matches the topic. The service's and Kafka's own topics are never allowed; other internal topics, such as
 * `_schemas`, only by their exact name.
 */
export function mayAdoptTopic({ patterns, prefix }: AdoptionRules, accountId: string, topic: string): boolean {
  if (topic.startsWith(`${prefix}.`) || topic.startsWith('__')) return false
  return patterns.some((rule) => {
    const slash = rule.indexOf('/')
    const pattern = rule.slice(slash + 1)
    if (slash >= 0 && rule.slice(0, slash) !== accountId) return false
    return pattern.endsWith('*') ? !topic.startsWith('_') && topic.startsWith(pattern.slice(0, -1)) : topic === pattern
  })
}

/** True for subjects of the account's own streams and of topics it may adopt; a subject's topic is its name without `-key` or `-value`. */
export function mayUseSubject(rules: AdoptionRules, accountId: string, subject: string): boolean {
  return subject.startsWith(`${rules.prefix}.${accountId}.`) || mayAdoptTopic(rules, accountId, subject.replace(/-(key|value)$/, ''))
}
