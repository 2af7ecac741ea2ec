import type { ItemCode } from '../../sync/model/item.ts'
import type { SkillCode } from '../../sync/skill/skill-diagnostic.ts'
import type { CodeText } from '../runtime/operator-error.ts'
import type { OperatorErrorCode } from '../runtime/operator-error.ts'

/** The checks of this machine, by `doctor`. */
export const MACHINE_CHECKS = {
  node: { meaning: 'The Node version, on a supported system. Every command refuses Node before 24' },
  configuration: {
    meaning: 'The configuration is found, readable and usable. The message has file, line and column of each error',
  },
  program: {
    meaning:
      'git and ssh and their versions, where a source needs them. Your own programs (an MCP server, a credential helper, a gate) are located and not run',
  },
  'state-folder': {
    meaning:
      'It is a state folder of this version, or can become one; it belongs to the user, and others cannot write to it; a file in it can be written, synced, linked and renamed',
  },
  decisions: {
    meaning:
      'decisions.json (disabled skills, holds, approvals) is readable, or its copy is. Without either, a starting daemon serves nothing',
  },
  disk: {
    meaning:
      'There is room for what limits.disk permits, and for more files; the disk is local, as store.db requires, and not in memory',
  },
  socket: {
    meaning:
      "The path of the command socket fits the system's limit, and its folder can be created, or belongs to this user alone",
  },
  writer: {
    meaning:
      'The process that writes the state folder answers, with the same configuration and version. One that is silent is stopped or hangs; a dead one is replaced by the next start; one in another container or machine is recognized by its lease',
  },
  listen: {
    meaning:
      'Each address for clients or webhooks is free, or used by the daemon, or systemd listens there for it. Any other program on the port is a failure, and it is named if this user may know it',
  },
  tokens: { meaning: 'If other machines can connect, there is a valid token or an authorization server' },
  descriptors: {
    meaning:
      'As many files can be open as limits.http.connections permits connections. The limit is that of the calling shell',
  },
  secret: {
    meaning:
      'Each named secret is set, readable, well-formed, and not readable by every user; an ssh key by no other user, as ssh requires',
  },
  trust: { meaning: 'The files that define trust are readable: certificates (ca), signers (signed), known hosts' },
  host: {
    meaning:
      'For each host of a source, the GitHub App API, the gate and the authorization server: the name resolves, a connection opens, the certificate is trusted, the proxy permits it',
  },
  source: {
    meaning:
      'The source answers the request that each pull begins with, with the credential and the proxy of the pull: the commit of its ref',
  },
  status: {
    meaning:
      'All that skillsyncd status shows as needing a person, by its code, and each skill that is withheld or disabled',
  },
  lock: { meaning: 'The lock can be read, fits the configuration and what is served, and names no recalled skill' },
  'lock-origin': { meaning: 'The newest lock of the repository that lock.from names is in force' },
  database: {
    meaning:
      'In a hub of several processes: the database of store.postgres can be reached with the configured address, and its schema is that of this version',
  },
  clock: { meaning: 'The clock against that of each host: a warning from 30 seconds, a failure from 5 minutes' },
  folder: { meaning: 'Local sources are readable' },
  watches: {
    meaning:
      "The number of folders below folder sources against the system's limit for one user, of which half counts as available",
  },
  links: {
    meaning:
      'The folders of agents that skillsyncd link filled have the served skills, and no agent finds a skill twice',
  },
  contract: {
    meaning:
      'With contract: true, the skills of the contract fit together. Two skills with one id are a failure, dependency problems are warnings',
  },
  offers: { meaning: 'An MCP server offers something that is not taken. It is no fault; the line names the key' },
  dependencies: {
    meaning: 'The skills that depend on others by metadata.depends_on have them, in the catalog and in each pack',
  },
  service: { meaning: 'With systemd: the state of skillsyncd.service, for the system and this user. None is fine' },
  'second-opinion': {
    meaning:
      'With doctor SOURCE: the stored files against their digests, and the served commit fetched again by a second reader',
  },
  connect: {
    meaning: 'With doctor --connect: each step of the clients of both eras at the address, with the likely cause',
  },
} as const satisfies Readonly<Record<string, CodeText>>

/** The findings of `verify`. One of an upstream has the code of its error. */
export const STORE_FINDINGS = {
  'checkout-edited': {
    meaning: 'A file in a folder that an agent reads was edited. Clients are served from store.db, which is intact',
    fix: 'Nothing: the folder is restored at the next publish, start or request',
  },
  'file-damaged': {
    meaning: 'A served file is missing, or differs from its digest. No client gets it',
    fix: 'skillsyncd sync fetches it again; find what damages files there',
  },
  'snapshot-damaged': {
    meaning: "A part of the store's own records is missing or damaged",
    fix: 'skillsyncd sync, or a restart: the newest whole generation is served',
  },
  'generation-damaged': {
    meaning: 'A stored generation cannot be read, or all are lost',
    fix: 'skillsyncd sync, or a restart: the newest whole generation is served',
  },
  'database-damaged': {
    meaning:
      'SQLite finds damage in store.db. Nothing that differs from its digest is served; a daemon that meets the damage starts a new database',
    fix: 'Look for the cause, such as a failing disk; then stop the daemon and move the state folder away, and restore a backup, or let skillsyncd sync fetch everything again',
  },
  'object-damaged': {
    meaning: 'Bytes in store.db differ from their digest, in nothing that a stored generation has',
    fix: 'skillsyncd sync; find what damages files there',
  },
  'decisions-damaged': {
    meaning: 'decisions.json is damaged, missing or unreadable. If its equal copy was read, decisions hold',
    fix: 'Give decisions.json and decisions-copy.json to the user of the daemon, and correct one of them (JSON) or restore it from a backup',
  },
  'decisions-lost': {
    meaning:
      'decisions.json and its copy are both gone. Decisions hold by the record generations/decisions.json: what was disabled or held stays so',
    fix: 'Restore the file from a backup, or do one of the two things that the message names; then restart the daemon',
  },
  stranger: {
    meaning: 'A checkout contains something that is not of the skill',
    fix: 'Nothing, or remove what you put there',
  },
  'proof-damaged': {
    meaning: 'The stored commit and tag do not lead to what is served',
    fix: 'skillsyncd sync; if it stays, check the repository before you trust it',
  },
  'proof-missing': {
    meaning: 'The commit or tag that proves what is served was not stored',
    fix: 'Nothing: the lock or the digests are the only proof of it',
  },
  'proof-refused': {
    meaning: 'The file does not prove what it says: a byte was changed, or the key is not that of its log',
    fix: 'Get the file and the public key again, each from its origin',
  },
  'folder-differs': {
    meaning: 'The folder has other files than the skill of the proof',
    fix: 'Compare the folder with its origin',
  },
  'log-not-read': {
    meaning:
      'A part of a log could not be compared: a folder is behind or empty, an entry has a later form, or no entry names what is served',
    fix: 'Nothing, if intended; else skillsyncd publish at the hub, or skillsyncd sync here',
  },
  'lock-missing': {
    meaning: 'A source follows the lock, and there is none',
    fix: 'skillsyncd lock makes one',
  },
  'lock-unreadable': {
    meaning: 'The lock cannot be read, or is no lock',
    fix: 'Resolve what the message names, or restore the file from its repository; skillsyncd lock makes a new one',
  },
  'lock-not-followed': {
    meaning: 'The lock has the source, and is not followed: `lock: ignore`, or the source is held',
    fix: 'Nothing, if intended; skillsyncd release SOURCE ends a hold',
  },
  'lock-not-served': {
    meaning: 'A source is in the lock, and nothing of it is served',
    fix: 'skillsyncd sync SOURCE, or the problem of the source in skillsyncd status',
  },
  'lock-differs': {
    meaning: 'What is served is not what is locked',
    fix: 'skillsyncd update SOURCE accepts the current state; skillsyncd sync returns to the lock, with `lock: ignore` sync --locked does',
  },
  'upstream-not-asked': { meaning: 'The source was not asked for what it has now', fix: 'Run it without --offline' },
  'upstream-moved': {
    meaning: 'Upstream has something newer than what is served',
    fix: 'skillsyncd outdated shows what is newer',
  },
  'commit-gone': {
    meaning: 'Upstream no longer has the served commit; the store does',
    fix: 'skillsyncd outdated shows what is there instead; skillsyncd update SOURCE moves to it',
  },
  'second-opinion-differs': {
    meaning:
      'The second reader, which fetched the served commit again, has a file differently or not at all. Stored files were changed with their digests, the host sends two clients different content, or one reader is wrong',
    fix: 'Take the skill out of service (skillsyncd disable), copy the state folder, and compare with git show COMMIT:PATH of a clone',
  },
  'not-compared': {
    meaning:
      'The second reader cannot get the served commit: it supports no ssh and no SHA-256, a folder has no commit, the host no longer gives the commit, or the repository is too large',
    fix: 'Nothing: the stored files are compared with their digests, and the commit with its id',
  },
  'links-damaged': {
    meaning: 'links.json is damaged or unreadable. Folders of agents keep their state; link refuses',
    fix: 'Remove the file and link again: links into the state folder are recognized, and link names copies',
  },
} as const satisfies Readonly<Record<string, CodeText>>

/** The problems of what has a state, beside those of sources and skills. */
export const STATE_PROBLEMS = {
  'database-away': {
    meaning: 'The database of a hub of several processes cannot be used. What each process serves stays',
    fix: 'skillsyncd doctor checks the database',
  },
  'leader-missing': {
    meaning: 'No process of a hub of several leads, so none pulls. It is retried every few seconds',
    fix: 'The log of each process says why it does not lead',
  },
  'folder-behind': {
    meaning: 'A folder of an agent does not have what is served',
    fix: 'The command that the message names brings it',
  },
  'folder-blocked': {
    meaning: 'A skill is served, and something else is at its place in a folder of an agent',
    fix: 'The message names the place, and what helps',
  },
  'not-ready': {
    meaning: '/readyz answers 503: nothing is served, or a source with `required: true` is not, or is too old',
    fix: 'Fix the problem of the source, or remove `required`',
  },
  'ring-stopped': {
    meaning: 'A ring does not take the next commit of a source: a skill of it is disabled, or its use fails too often',
    fix: 'skillsyncd rings RING shows the reason, and what comes next',
  },
  'token-expiring': {
    meaning: 'A token has expired, or will within two weeks',
    fix: 'skillsyncd token renew NAME, or token revoke NAME',
  },
  'tokens-unreadable': {
    meaning: 'The tokens cannot be read, so no token is accepted',
    fix: 'skillsyncd token list shows the reason',
  },
} as const satisfies Readonly<Record<string, CodeText>>

/** The findings of `enroll --check`. */
export const ENROLLMENT_CHECKS = {
  'agent-file': {
    meaning: 'The settings file of an agent names the marketplace and its plugins',
    fix: 'Correct what the message names: that is not overwritten',
  },
  'managed-rule': {
    meaning: 'A managed file of the organization keeps an agent from the marketplace',
    fix: 'Ask who manages that file to allow the address of the marketplace',
  },
  marketplace: { meaning: 'The address of the marketplace answers git, with the token of ~/.netrc' },
} as const satisfies Readonly<Record<string, CodeText>>

export type StoreFinding = keyof typeof STORE_FINDINGS

/** Stable, for programs: a check, a finding, or the code of an error that a check met. */
export type CheckName =
  | SkillCode
  | ItemCode
  | keyof typeof MACHINE_CHECKS
  | StoreFinding
  | keyof typeof ENROLLMENT_CHECKS
  | OperatorErrorCode

const RULES: Readonly<Record<string, CodeText>> = {
  ...MACHINE_CHECKS,
  ...STORE_FINDINGS,
  ...STATE_PROBLEMS,
  ...ENROLLMENT_CHECKS,
}

/** The general fix of a check; `undefined` if each of its results has its own, or it is the code of an error. */
export function fixOfCheck(check: CheckName): string | undefined {
  return RULES[check]?.fix
}
