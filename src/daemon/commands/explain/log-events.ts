import type { CodeText } from '../../runtime/operator-error.ts'

/** The events of the log that a person may ask about. */
export const LOG_EVENTS = {
  'tokens-not-read': {
    meaning:
      '`tokens.json` is damaged or unreadable. No token of `skillsyncd token` is accepted; clients that need none continue',
    fix: 'Correct the file, or remove it and make new tokens. A running daemon reads it again at the next `skillsyncd token add` or `revoke`',
  },
  'marketplace-skill-left-out': {
    meaning:
      'A skill is in no plugin of the marketplace, for the reason in the message; MCP clients and installers have it',
    fix: 'Rename the named file, or nothing',
  },
  'ring-promoted': {
    meaning: 'A ring took the named commit of a source, which the ring before it serves',
    fix: 'Nothing',
  },
  'promotion-stopped': {
    meaning: 'A ring takes nothing of a source for the reason in the message. Logged once until the reason changes',
    fix: 'See `skillsyncd rings`; `skillsyncd promote SOURCE --now` takes the commit anyway. `ring-failures`: the message has the skills and how often each failed, now and before',
  },
  'promotion-failed': {
    meaning:
      'The next state of the rings could not be written. It is retried, and logged once until the reason changes; `recovered` follows',
    fix: 'See the code',
  },
  'ring-not-repaired': {
    meaning:
      'Stored content that only a later ring serves is damaged, and its commit cannot be fetched again for the reason in the message. It is tried again when a client requests it, each minute at most; `recovered` follows',
    fix: 'See the code; if upstream has lost the commit, `skillsyncd promote SOURCE --now` has the rings take newer content',
  },
  published: {
    meaning: 'The marketplace was pushed to a git host as the named commit',
    fix: 'Nothing',
  },
  'not-published': {
    meaning:
      'The marketplace could not be pushed to the named repository and branch, or the named channel could not be written; the message may quote the server. It is retried, and logged once until the reason changes; `recovered` follows',
    fix: 'See the code; `skillsyncd status` has the fix and the time of the next attempt',
  },
  'hub-sources': {
    meaning:
      'The hub that `follow` names has other sources; this daemon follows them from now on. `gone`: those that wait for the operator, or that the lock has',
    fix: 'Nothing; `skillsyncd status` shows those that wait',
  },
  'usage-not-shared': {
    meaning:
      'A process of a hub of several cannot send its counts of use to the database. They wait on its disk. It is retried each minute, and logged once until the reason changes; `recovered` follows',
    fix: 'See the message, and the state of the database in `skillsyncd status`',
  },
  'lock-moved': {
    meaning: 'Another commit of the repository of the lock is in force, and the sources move to what it names',
    fix: 'Nothing',
  },
  'lock-not-taken': {
    meaning:
      'The repository of the lock cannot be read, or its newest commit is not taken; the message says why. The lock before it stays in force. It is retried, and logged once until the reason changes; `recovered` follows',
    fix: 'See the message, and `skillsyncd status`, which has the commit in force. `history-rewritten`: restore the branch, or set `lock.from.accept` to the new commit',
  },
  'skill-recalled': {
    meaning: 'An operator recalled a skill or a digest here, with the reason',
    fix: 'Nothing; `skillsyncd disable --report ID` shows its reach',
  },
  'recall-revoked': {
    meaning: 'An operator ended a recall here',
    fix: 'Nothing',
  },
  'recall-obeyed': {
    meaning: 'A recall of a hub that is followed is in force here now; `log` names its channel',
    fix: 'Nothing; `skillsyncd disable --followers` lists recalls, and `why SKILL` shows which one a skill matches',
  },
  'reach-not-written': {
    meaning:
      'The followers of the channels could not be written to `logs/reach.rows`. The report of a recall is right until a restart, and then as followers report again',
    fix: 'See the code',
  },
  'reach-not-shared': {
    meaning:
      'A process of a hub of several cannot share the followers of its channels. Until `recovered` follows, the report of a recall has those that this process knows, and says so. It is retried each second',
    fix: 'See the message, and the state of the database in `skillsyncd status`',
  },
  'hub-not-followed': {
    meaning:
      'A process of a hub of several cannot take over what another one has published, or cannot change its part, for a reason of its own such as its disk; the message says which. It serves what it has, leaves the lead to another process, and tries again each second',
    fix: 'See the code of the message',
  },
  'hub-sources-not-applied': {
    meaning:
      'The hub has other sources, and this daemon could not change to them. It goes on with those that it has, and retries with the next pull; `recovered` follows',
    fix: 'See the code',
  },
  'channel-published': {
    meaning: 'A channel has a new entry, or new objects in its folder; `entries` is the length of its log',
    fix: 'Nothing',
  },
  'witness-failed': {
    meaning:
      'The named witness of a log brought no cosignature. It is logged once until the reason changes; `recovered` follows. If the others are enough, nothing else happens',
    fix: 'See log-unwitnessed',
  },
  'witness-started': {
    meaning: '`skillsyncd witness` listens, for the named logs',
    fix: 'Nothing',
  },
  cosigned: {
    meaning: '`skillsyncd witness` has cosigned the named log with so many entries',
    fix: 'Nothing',
  },
  'not-cosigned': {
    meaning:
      '`skillsyncd witness` has refused a checkpoint of the named log, with the status of the answer. 422: a key of the log has signed it, and it does not continue the one that was cosigned, or came with a wrong proof, which anyone can send. It is logged once until the next cosignature',
    fix: 'If the hub reports `log-unwitnessed` too: a copy of its state, or its key, is in use somewhere else',
  },
  'lock-watched': {
    meaning:
      'The lock names a process of another container or machine, or from before a restart of this machine. It is taken over if its lease is unchanged for 10 s',
    fix: 'Nothing',
  },
  'cannot-write': {
    meaning:
      'An `mcp` process cannot write the state folder, or another process took over. It serves the stored state and follows',
    fix: 'See the code',
  },
  'issuer-not-asked': {
    meaning:
      'The authorization server of `serve.oauth` did not give its metadata or keys. Known keys continue to count; without any, its tokens are refused',
    fix: 'Open `ISSUER/.well-known/openid-configuration` from this machine. The next attempt is with the next token, after ten seconds at the earliest',
  },
  'sign-in-failed': {
    meaning:
      'A person could not sign in to the page for a cause that an operator can remove. It is logged once until the cause changes; `recovered` follows the next sign-in that succeeds',
    fix: 'See sign-in',
  },
  'sign-ins-not-shared': {
    meaning:
      'The database of a hub of several processes cannot be reached: a sign-in to the page works at this process only, and one that was ended here is ended at the others later. `recovered` follows',
    fix: 'See the message, and the state of the database in `skillsyncd status`',
  },
  'code-refused': {
    meaning:
      'The authorization server did not accept the code of a sign-in (`invalid_grant`). It is logged once, at the level `info`, until a sign-in succeeds',
    fix: 'Nothing, unless every sign-in ends so: see sign-in',
  },
  'sessions-not-read': {
    meaning: '`sessions.journal` is damaged, from the named line on or as a whole',
    fix: 'Nothing: 2025 clients with a lost session get 404 and open another, or must be restarted',
  },
  'sessions-not-kept': {
    meaning:
      'Sessions cannot be written and end with the process. With a PostgreSQL database they also work at this process only until then',
    fix: 'See `store-failed`; it is retried, and logged once when it works',
  },
  'folder-not-watched': {
    meaning:
      'The folder of a source cannot be watched: no watches left (`ENOSPC`, `EMFILE`), or over 8,192 folders (`too-many`). It is read on its schedule',
    fix: 'Raise `fs.inotify.max_user_watches`, or name a smaller folder; retried after ten minutes',
  },
  'content-not-fetched': {
    meaning:
      'A file of a skill of another MCP server is not available. The client gets the reason if a retry cannot help, such as a used-up budget, and is otherwise asked to retry. Files that were read before stay',
    fix: 'See the code; for `limit-exceeded` raise the named budget, or wait: hourly budgets become free',
  },
  'content-withheld': {
    meaning:
      'A file of a skill of another MCP server has characters for which the policy withholds the skill (hidden-unicode). No client got it',
    fix: 'Check the place in the message, and contact the operator of that server. `policy: { hidden-unicode: note }` serves it',
  },
  'request-answered': {
    meaning:
      'With `--log-level debug`, by `mcp`: requests, refusals with their reason, and the generation it begins to serve. Of tool arguments only ids are logged',
    fix: 'Nothing',
  },
  'request-refused': {
    meaning:
      'With `--log-level debug`, by `mcp`: requests, refusals with their reason, and the generation it begins to serve. Of tool arguments only ids are logged',
    fix: 'Nothing',
  },
  'generation-served': {
    meaning:
      'With `--log-level debug`, by `mcp`: requests, refusals with their reason, and the generation it begins to serve. Of tool arguments only ids are logged',
    fix: 'Nothing',
  },
  'content-not-read': {
    meaning:
      'The system did not open a stored file: no descriptors (`EMFILE`), no memory. The client is asked to retry (`-32603`, over plain HTTP 503)',
    fix: 'For `EMFILE` raise the descriptor limit (`LimitNOFILE=`, `ulimit -n`); `skillsyncd doctor` compares it. `recovered` follows the next successful read',
  },
  'skill-withheld': {
    meaning:
      'The commit, or the save in a folder, has a skill that must not be served. The rule, and the message with the line, say why',
    fix: 'Correct SKILL.md as the message says: skillsyncd explain RULE, or skillsyncd validate FOLDER for authors',
  },
  'skills-kept': {
    meaning:
      'A commit is served in which some skills are broken, and these are served as of an earlier one, with `on_broken: keep`. It has their number and the first of them',
    fix: 'Mend them: `skillsyncd status` has the faults (kept-version)',
  },
  'approval-revoked': {
    meaning: 'A skill of another MCP server has other files than the approved ones. It is out of service',
    fix: 'Check the change, then `skillsyncd approve SOURCE/PATH`',
  },
  'scan-withheld': {
    meaning: 'A later scan of what is served refuses a skill. It is out of service until a scan clears it',
    fix: '`skillsyncd why` shows the findings; `skillsyncd enable SOURCE/PATH` serves this content of it all the same',
  },
  'scan-cleared': {
    meaning:
      'A scan finds nothing more in a skill that scans had taken out of service, or its content changed. It is in service again',
    fix: 'Nothing',
  },
  'scan-refused': {
    meaning: 'A scan refuses a skill that is served, and the configuration only reports that',
    fix: '`skillsyncd why` shows the findings; `skillsyncd disable`, or `skillsyncd scan --withhold`',
  },
  'scan-waiting': {
    meaning:
      'Scans refuse more of the skills than `gate.rescan.most_withheld` allows, as after a bad update of rules. Nothing was taken out of service',
    fix: 'Check the rules; then `skillsyncd scan --withhold` takes all of them out, or a scan by better rules ends it',
  },
  'scan-ended': {
    meaning: 'Everything was scanned again',
    fix: 'Nothing',
  },
  'scan-unanswered': {
    meaning: 'The scanner gave no answer for one skill, which stays as it is. It is tried again',
    fix: 'See the message',
  },
  'scan-failed': {
    meaning:
      'The scanner gives no answer, and the scan of everything ended. It is retried after ten minutes, and logged once; `recovered` follows',
    fix: 'See the message; `skillsyncd doctor` finds a program that is not installed',
  },
  'server-odd': {
    meaning:
      'A server of an `mcp` source sends something unknown without effect, such as another `$schema` in its index. Logged once',
    fix: 'Nothing',
  },
  'links-not-read': {
    meaning: "`links.json` is damaged or unreadable. Agents' folders keep their state; `link` refuses",
    fix: 'Remove the file and link again: links into the state folder are recognized. Copies are not: `link` names them',
  },
  'links-damaged': {
    meaning: "`links.json` is damaged or unreadable. Agents' folders keep their state; `link` refuses",
    fix: 'Remove the file and link again: links into the state folder are recognized. Copies are not: `link` names them',
  },
  'links-not-switched': {
    meaning:
      "Agents' folders show the earlier state, because the state folder is not writable; or a skill is in none, because a stored file is damaged",
    fix: 'See `store-failed`; retried at the next publish or start. A damaged file is fetched again when a client reads it',
  },
  'folders-not-followed': {
    meaning:
      'A folder of `links` is not up to date: it is not writable, contains something foreign, or a name is reserved for another source. Agents keep what is there',
    fix: 'Fix that, or run the named command as the user of the daemon; retried at the next publish, `skillsyncd sync` or start',
  },
  'folder-followed': {
    meaning: 'The daemon added and removed that many skills in a folder of `links`',
    fix: 'Nothing',
  },
  'service-manager-not-told': {
    meaning: 'Systemd was not notified, so a start may time out, or the watchdog may restart the daemon',
    fix: 'Install `systemd-notify` (part of systemd), with `NotifyAccess=all` in the unit, as `skillsyncd service install` writes it (docs/../systemd/README.md)',
  },
  'source-moved': {
    meaning:
      'The host redirects a source to another address of its own, which is followed. Logged once for each address; `skillsyncd status` shows it (`movedTo` in JSON)',
    fix: 'Write the new address into `url`: hosts drop such redirects in time',
  },
  'store-replaced': {
    meaning:
      '`store.db` was removed, or SQLite found it damaged. A damaged one stays as `store.db.damaged-TIME`; a new one is filled from the sources under the same lock and decisions. What upstream lost does not return',
    fix: 'Look for the cause, such as a failing disk; if something is missing, stop the daemon, move the state folder away and `skillsyncd restore` a backup',
  },
  'store-log-made-again': {
    meaning:
      'A file of the write-ahead log, `store.db-wal` or `store.db-shm`, was removed. The daemon, which had it open, wrote what it held into `store.db`; nothing is lost',
    fix: 'Find what removes files there',
  },
  'store-mended': {
    meaning:
      '`store.db` had lost the snapshot or generation that is served, or the disk lost `decisions.json` or a folder of the state folder; it was written again from memory, or is fetched again',
    fix: 'Find what damages files there: `skillsyncd verify`',
  },
  'served-lost': {
    meaning:
      'The disk lost the served snapshot of a source, or its generation, as a power cut can cause. The message says what is served instead: an older commit, or nothing. Disabled skills stay disabled, and whole sources are served',
    fix: 'Nothing while upstream answers: the next poll restores it, and the log says `recovered`. Otherwise stop the daemon, move the state folder away and `skillsyncd restore` a backup',
  },
  'decisions-damaged': {
    meaning:
      '`decisions.json` is damaged, missing or unreadable, and its equal copy `decisions-copy.json` was read. Decisions hold, and the daemon writes the file again',
    fix: 'Find what damages files there: `skillsyncd verify`',
  },
  'decisions-lost': {
    meaning:
      '`decisions.json` and its copy are both gone. Decisions hold by the record `generations/decisions.json`: what was disabled or held stays so. The files are not written again by themselves, because a person may have removed them',
    fix: '`cp STATE/generations/decisions.json STATE/decisions.json` keeps the decisions, `rm STATE/generations/decisions.json` drops them; restart the daemon. The next decision (`disable`, `hold`, …) writes all three again',
  },
  'decisions-not-read': {
    meaning:
      "Neither `decisions.json` nor its copy is readable, and no source is pulled. A process that knows the decisions continues; one that starts serves nothing, because any skill may be disabled. Agents' folders stay. In a hub of several processes: a process without a copy has not reached the database yet, or the row there is damaged",
    fix: 'See `store-failed`; read again at the next poll',
  },
  'decisions-not-shared': {
    meaning:
      'A process of a hub of several could not read the decisions, or the tokens, in the database, or not write its copy of them; the message says which. It goes on with those that it has, and changes are refused while the database is away. It is retried, and logged once until the reason changes; `recovered` follows',
    fix: 'See the message. For a damaged row: correct it, or remove it with the statement in the message; then a process that runs writes what it holds. For a lost row, if no process runs that had read it: the statement in the message lets the next process that starts write its files there',
  },
  'tokens-not-shared': {
    meaning:
      'A process of a hub of several could not read the decisions, or the tokens, in the database, or not write its copy of them; the message says which. It goes on with those that it has, and changes are refused while the database is away. It is retried, and logged once until the reason changes; `recovered` follows',
    fix: 'See the message. For a damaged row: correct it, or remove it with the statement in the message; then a process that runs writes what it holds. For a lost row, if no process runs that had read it: the statement in the message lets the next process that starts write its files there',
  },
  'shared-store-away': {
    meaning:
      'A process of a hub of several cannot use the database; the message says why. It serves what it has, publishes nothing, and refuses commands that change something. It is retried each second, and logged once until the reason changes; `recovered` follows',
    fix: 'The database, its network, the password and the rights of the role: `skillsyncd doctor`',
  },
  'hub-role': {
    meaning: 'A process of a hub of several begins to lead, or leads no more (`leads`)',
    fix: 'Nothing',
  },
  'hub-configs-differ': {
    meaning:
      'A process of a hub of several has other sources, packs, channel, gate or rules for the lock than this one. The process that leads publishes what it is configured for, so that content comes and goes as the lead moves',
    fix: 'Give all processes one configuration; while you roll out a change, nothing: `recovered` follows',
  },
  'shared-store-behind': {
    meaning:
      'The database had lost the last publications, as after a failover to a copy that lags; a process that serves them has put them there again',
    fix: 'Nothing; check why the copy was behind',
  },
  'generation-replaced': {
    meaning:
      'The database had lost publications, and another process published before this one could put them back. What that one published is served',
    fix: 'Nothing: the next pull brings what upstream has',
  },
  'disabled-not-followed': {
    meaning:
      'A new place of a disabled skill could not be written. It is out of service there; a rename from there by the author could bring it back',
    fix: 'See `store-failed`; restart the daemon once the disk is writable',
  },
  'id-clash': {
    meaning:
      'Skills of the frontmatter contract do not fit together. No skill is withheld; those with one id are not at `resource://`. The log has each kind once until it changes, and `recovered`; `sync` and `status --check` exit with 3',
    fix: 'Correct the frontmatter of the named skills, or disable one',
  },
  'dependency-missing': {
    meaning:
      'Skills of the frontmatter contract do not fit together. No skill is withheld; those with one id are not at `resource://`. The log has each kind once until it changes, and `recovered`; `sync` and `status --check` exit with 3',
    fix: 'Correct the frontmatter of the named skills, or disable one',
  },
  'dependency-cycle': {
    meaning:
      'Skills of the frontmatter contract do not fit together. No skill is withheld; those with one id are not at `resource://`. The log has each kind once until it changes, and `recovered`; `sync` and `status --check` exit with 3',
    fix: 'Correct the frontmatter of the named skills, or disable one',
  },
  'audit-not-written': {
    meaning: 'A line of the audit log could not be written; requests are answered all the same',
    fix: 'See the cause in the message: the disk of the audit log, its space and its permissions',
  },
  'collection-failed': {
    meaning: 'What is no longer needed could not be removed from the store',
    fix: 'See the code; the next collection tries it again',
  },
  'content-damaged': {
    meaning: 'A served file is missing, or differs from its digest. No client gets it',
    fix: 'Nothing: its source is pulled again. Find what damages files there: skillsyncd verify',
  },
  'content-mismatch': {
    meaning: 'An MCP server sent other bytes than it declares; the skill is withheld',
    fix: 'Tell the operator of that server; skillsyncd mcp-source mirror SOURCE/PATH has its files read again',
  },
  'control-socket-made-again': {
    meaning: 'The socket for commands was removed, and the daemon made it again',
    fix: 'Find what removes files there',
  },
  'control-socket-not-made': {
    meaning: 'The socket for commands cannot be made; commands do not reach the daemon',
    fix: 'See socket-failed',
  },
  decided: {
    meaning: 'A person decided on a source, a ring of it or a skill',
    fix: 'Nothing',
  },
  'disabled-returns': {
    meaning:
      'A disabled skill is at another place, or another skill has its name, URI, SKILL.md or files. It stays out of service',
    fix: 'Nothing, or skillsyncd enable',
  },
  'folder-watched': {
    meaning: 'The folder of a source is watched again',
    fix: 'Nothing',
  },
  'gate-unanswered': {
    meaning: 'The gate gives no answer; the commit waits and what is served stays',
    fix: 'See the message; skillsyncd doctor finds a program that is not installed',
  },
  'history-rewritten': {
    meaning: 'The served commit is no longer in the history of its branch',
    fix: 'Review it with skillsyncd diff served upstream',
  },
  'not-reloaded': {
    meaning: 'The changed configuration is not applied: the message names the line',
    fix: 'Correct the configuration, and run skillsyncd reload',
  },
  'pull-failed': {
    meaning: 'A source could not be pulled. What is served stays',
    fix: 'See the code of the message',
  },
  'record-not-written': {
    meaning: 'The record of a source could not be written; status may be older than the truth after a restart',
    fix: 'See store-failed',
  },
  reloaded: {
    meaning: 'The daemon applied the configuration anew',
    fix: 'Nothing',
  },
  'request-failed': {
    meaning: 'A request of a client failed for a fault of the program or of the disk',
    fix: 'See the message; report it if it is no fault of the disk',
  },
  'search-not-made': {
    meaning: 'The index of the search could not be built; skills are listed all the same',
    fix: 'See the code',
  },
  'served-read-only': {
    meaning: 'The daemon serves the stored state and writes nothing: the disk of the state folder does not let it',
    fix: 'Let the user of the daemon write to the state folder',
  },
  'skill-approved': {
    meaning: 'A person approved a skill of another MCP server',
    fix: 'Nothing',
  },
  'skill-measured': {
    meaning: 'The context cost of a served skill, with --log-level debug',
    fix: 'Nothing',
  },
  'skill-named': {
    meaning: 'A skill has the name that clients call it by',
    fix: 'Nothing',
  },
  'skill-unnamed': {
    meaning: 'A skill lost its short name to another, and is called by its full id',
    fix: 'Nothing, or rename one of the two',
  },
  'source-waiting': {
    meaning: 'The newest commit of a source waits, and what is served stays',
    fix: 'See the code: skillsyncd status has the next step',
  },
  'source-nudged': {
    meaning: 'A webhook or a watch asked for a pull of the source',
    fix: 'Nothing',
  },
  'source-resolved': {
    meaning: 'The ref of a source was read, with --log-level debug',
    fix: 'Nothing',
  },
  'source-unchanged': {
    meaning: 'A pull found what is served',
    fix: 'Nothing',
  },
  'source-updated': {
    meaning:
      'A source serves another commit. `changes` names its skills by what became of them: up to ten of each kind, and the number of the others',
    fix: 'Nothing',
  },
  started: {
    meaning: 'The daemon listens',
    fix: 'Nothing',
  },
  stopping: {
    meaning: 'The daemon ends',
    fix: 'Nothing',
  },
  'upstream-drifted': {
    meaning: 'A locked or held source has something newer upstream',
    fix: 'Nothing, or skillsyncd update SOURCE',
  },
  'upstream-forgotten': {
    meaning: 'Files of an MCP server that is no longer configured were removed',
    fix: 'Nothing',
  },
  'upstream-not-forgotten': {
    meaning: 'Files of an MCP server that is no longer configured could not be removed',
    fix: 'See the code',
  },
  'usage-moved-aside': {
    meaning: 'Counts of use could not be read, and were moved aside; counting begins anew',
    fix: 'Nothing; the file stays beside',
  },
  'usage-not-written': {
    meaning: 'Counts of use could not be written',
    fix: 'See the code',
  },
  'webhook-refused': {
    meaning: 'A webhook was refused: a wrong secret, provider or source, or the secret cannot be read',
    fix: 'Compare the secret of the webhook with the configuration',
  },
  recovered: {
    meaning: 'What failed works again; the event of the failure is named',
    fix: 'Nothing',
  },
} as const satisfies Readonly<Record<string, CodeText>>
