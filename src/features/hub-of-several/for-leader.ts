/**
 * True for a request that changes the content of the hub, and that the process that leads has to answer. All others are
 * answered by any process: a skill can be disabled while no process leads.
 */
export function isForLeader(method: string): boolean {
  return FOR_LEADER.has(method)
}

const FOR_LEADER: ReadonlySet<string> = new Set([
  'sync',
  'look',
  'follow',
  'pull',
  'decide',
  'rollback',
  'promote',
  'publish',
  'approve-skill',
  'recheck',
  'add-uri',
  'measure',
  'remove-uri',
])
