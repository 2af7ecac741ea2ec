/**
 * The file of tests that triggers each raise. A run of the file fails if one of its raises was not reached; `raises.test.ts`
 * fails for a raise without a row here, and prints what the row is to be.
 */
export const TRIGGERS: Readonly<Record<string, readonly string[]>> = {
  'test/sync/git/no-scratch.test.ts': ['sync/git/git-worker queueRequest store-failed'],
  'test/conformance/host/hidden-text.test.ts': ['features/mcp-sources/verified-reader expectReadable content-refused'],
  'test/conformance/host/older-forms.test.ts': [
    'features/mcp-sources/client/entry-requests costsOnly source-unreachable',
    'features/mcp-sources/upstream/pages enumerationFault content-refused',
    'features/mcp-sources/upstream/pages enumerationRefusal source-unreachable',
    'features/mcp-sources/upstream/pages tooManyItems limit-exceeded',
  ],
  'test/sync/store/decision-store.test.ts': ['sync/store/decision-files recall store-failed'],
  'test/conformance/host/causes.test.ts': [
    'features/mcp-sources/fetch-budget over limit-exceeded',
    'features/mcp-sources/verified-reader withhold content-refused',
    'features/mcp-sources/verified-reader notGiven content-refused',
  ],
  'test/conformance/host/mismatch.test.ts': [
    'features/mcp-sources/known-mismatches knownRefusalOf content-refused',
    'features/mcp-sources/upstream/server-connection absent source-unreachable',
  ],
  'test/daemon/commands/change/sync.slow.test.ts': ['daemon/pull/pull-context cleanError given'],
  'test/daemon/commands/doctor/checks.slow.test.ts': ['sync/store/decision-files read store-failed'],
  'test/features/hub-of-several/store-copy.slow.test.ts': [
    'features/hub-of-several/state-copy expectContained store-failed',
    'features/hub-of-several/store-copy nameless store-failed',
    'features/hub-of-several/state-copy expectContained store-failed 2',
    'features/hub-of-several/state-copy decisionsIn store-failed',
    'features/hub-of-several/state-copy writeLog store-failed',
    'sync/postgres/postgres-objects each store-failed',
    'sync/postgres/shared-state contentError store-failed',
    'sync/postgres/shared-state runningError store-failed',
  ],
  'test/features/agent-folders/kept-links.e2e.test.ts': ['features/agent-folders/kept-links withOnce given'],
  'test/daemon/commands/run/token-changes.slow.test.ts': ['daemon/commands/run/token-changes refuseWrite store-failed'],
  'test/daemon/config/auth.test.ts': [
    'daemon/config/auth sshKeyOf credentials-rejected',
    'daemon/config/auth readSecret credentials-rejected',
    'daemon/config/auth readSecret credentials-rejected 2',
    'daemon/config/auth rawSecret credentials-rejected',
    'daemon/config/auth readSecretFile credentials-rejected',
    'daemon/config/auth readSecretFile credentials-rejected 2',
    'daemon/config/auth readSecretFile credentials-rejected 3',
    'daemon/config/auth readSecretFile credentials-rejected 4',
  ],
  'test/daemon/commands/connect/probe-fetch.test.ts': [
    'daemon/commands/connect/probe-fetch bounded limit-exceeded',
    'daemon/commands/connect/probe-fetch fetch source-unreachable',
  ],
  'test/daemon/control/control-server.test.ts': [
    'daemon/control/control-client toldError given',
    'daemon/control/control-client tooLong limit-exceeded',
    'daemon/control/control-server tooLong limit-exceeded',
  ],
  'test/daemon/control/daemon-lock.slow.test.ts': [
    'daemon/control/daemon-lock read store-failed',
    'daemon/control/daemon-lock lockError store-failed',
  ],
  'test/daemon/control/write-lock.test.ts': ['daemon/control/write-lock readOnly store-failed'],
  'test/daemon/access/keyring.slow.test.ts': [
    'daemon/access/credential-helper askHelper credentials-rejected',
    'daemon/access/credential-helper askHelper credentials-rejected 2',
    'daemon/access/credential-helper askHelper credentials-rejected 3',
    'daemon/access/credential-helper askHelper credentials-rejected 4',
    'daemon/access/credential-helper run credentials-rejected',
    'daemon/access/github-app-tokens keyFrom credentials-rejected',
    'daemon/access/github-app-tokens refusalOf credentials-rejected',
    'daemon/access/github-app-tokens refusalOf source-unreachable',
    'daemon/access/github-app-tokens textOf limit-exceeded',
    'daemon/access/github-app-tokens givenIn source-unreachable',
  ],
  'test/daemon/damaged-files.test.ts': [
    'features/agent-folders/links-file readLinks store-failed',
    'features/agent-folders/links-file writeLinks store-failed',
    'daemon/status/audit/audit-files open store-failed',
    'daemon/control/control-path realPathOf store-failed',
    'features/usage/usage-database expectUsage store-failed',
    'features/usage/usage-database expectUsage store-failed 2',
  ],
  'test/daemon/access/tokens.test.ts': [
    'daemon/access/tokens add limit-exceeded',
    'daemon/access/tokens read store-failed',
  ],
  'test/features/channel/publish/channel-keeper.slow.test.ts': [
    'daemon/access/channel-keys channelSigners credentials-rejected',
  ],
  'test/features/marketplace/publish/refused.slow.test.ts': [
    'features/marketplace/publish/branch-publisher expected store-failed',
    'features/marketplace/publish/publish-tree publishTree source-unreachable',
  ],
  'test/features/channel/publish/witnesses.slow.test.ts': [
    'features/channel/witness/gather-cosignatures gatherCosignatures source-unreachable',
  ],
  'test/daemon/pull/document-thread.slow.test.ts': ['daemon/pull/document-thread unsearchedError limit-exceeded'],
  'test/features/hub-of-several/replica.slow.test.ts': [
    'features/hub-of-several/replica commit store-failed',
    'features/hub-of-several/replica commit store-failed 2',
  ],
  'test/features/hub-of-several/shared-commands.slow.test.ts': [
    'features/hub-of-several/hub-member pull store-failed',
    'features/hub-of-several/shared-commands receive store-failed',
    'features/hub-of-several/shared-commands takeAnswer given',
    'features/hub-of-several/shared-commands takeAnswer given 2',
  ],
  'test/daemon/pull/schedule/keyed-queue.test.ts': ['daemon/pull/schedule/keyed-queue tooLong source-unreachable'],
  'test/features/hub-of-several/sessions/session-lookups.test.ts': [
    'features/hub-of-several/sessions/session-lookups find store-failed',
    'features/hub-of-several/sessions/session-lookups find store-failed 2',
    'features/hub-of-several/sessions/session-lookups wait store-failed',
  ],
  'test/features/channel/witness/witness-server.test.ts': ['features/channel/witness/cosigned-logs read store-failed'],
  'test/features/channel/content/channel-tree.test.ts': [
    'features/channel/content/channel-tree expectObject store-failed',
  ],
  'test/features/channel/content/damaged-log.test.ts': [
    'features/channel/content/channel-log refusal store-failed',
    'features/channel/content/channel-tree expected store-failed',
    'features/channel/content/folder-channel expectOwn store-failed',
    'features/channel/content/channel-log expectAsWritten store-failed',
    'features/channel/content/channel-log expectAsWritten store-failed 2',
    'features/channel/content/channel-log damaged store-failed',
  ],
  'test/sync/model/decisions/recalled-skills.slow.test.ts': [
    'sync/model/decisions/recalled-skills withList limit-exceeded',
  ],
  'test/sync/model/sync-error.test.ts': ['sync/model/sync-error offlineError source-unreachable'],
  'test/sync/pull/move-policy.test.ts': ['sync/pull/move-policy standingHold given'],
  'test/sync/pull/pull.test.ts': [
    'sync/pull/fetch-snapshot expectFits limit-exceeded',
    'sync/pull/fetch-snapshot expectRoom limit-exceeded',
    'sync/pull/fetch-snapshot refuseInvalid content-refused',
    'sync/store/objects/local-blobs read store-failed',
  ],
  'test/features/channel/follow/published-snapshot.slow.test.ts': [
    'features/channel/content/walk-channel refusal content-refused',
    'features/channel/content/walk-channel tooMany limit-exceeded',
    'features/channel/follow/published-snapshot refusal content-refused',
    'features/channel/follow/channel-objects ofOtherSize content-refused',
  ],
  'test/sync/store/backup/backup.slow.test.ts': [
    'sync/store/backup/backup checkContents store-failed',
    'sync/store/backup/backup checkContents store-failed 2',
    'sync/store/files/state-folder halfRestoredError store-failed',
  ],
  'test/sync/store/damaged-files.test.ts': [
    'features/hub-of-several/copy-generation misshapen store-failed',
    'sync/store/followed-lock readFollowedLock store-failed',
    'sync/store/followed-logs read store-failed',
    'sync/store/hub-sources readHubSources store-failed',
    'sync/store/objects/sqlite-objects each store-failed',
    'sync/store/skills/skill-store fetched store-failed',
    'sync/store/skills/stored-path storedSkill store-failed',
    'sync/store/snapshot-store headIn store-failed',
  ],
  'test/sync/store/files/atomic.test.ts': ['sync/store/files/disk-error cannot store-failed'],
  'test/sync/store/files/file-lock.slow.test.ts': ['sync/store/files/file-lock isBroken store-failed'],
  'test/sync/store/files/journal.slow.test.ts': ['sync/store/files/journal readBounded store-failed'],
  'test/sync/store/files/state-folder.test.ts': [
    'sync/store/files/state-folder formatOf store-failed',
    'sync/store/files/state-folder ownFolder store-failed',
  ],
  'test/sync/store/generation-store.test.ts': ['sync/store/generation-store expectStored store-failed'],
  'test/sync/store/objects/sqlite-objects.slow.test.ts': [
    'sync/store/objects/database-file openExisting store-failed',
    'sync/store/objects/database databaseFailure store-failed',
    'sync/store/objects/database expectVersion store-failed',
    'sync/store/objects/database expectVersion store-failed 2',
    'sync/store/objects/object-rows pieceAt store-failed',
    'sync/store/objects/object-rows damage store-failed',
  ],
  'test/sync/postgres/postgres-database.test.ts': ['sync/postgres/postgres-database run store-failed'],
  'test/sync/postgres/postgres-objects.slow.test.ts': [
    'sync/postgres/postgres-objects headIn store-failed',
    'sync/postgres/postgres-objects digestIn store-failed',
    'sync/postgres/postgres-objects verified store-failed',
  ],
  'test/sync/postgres/schema-version.slow.test.ts': [
    'sync/postgres/schema-version expectCompatible store-failed',
    'sync/postgres/schema-version deniedError store-failed',
  ],
  'test/sync/store/shared-text.slow.test.ts': [
    'sync/store/decision-files read store-failed 2',
    'sync/store/decision-files recall store-failed 2',
    'sync/postgres/document-text read store-failed',
    'sync/store/shared-text expectKnown store-failed',
    'sync/store/shared-text readToChange store-failed',
    'sync/store/shared-text swap store-failed',
    'sync/store/shared-text damaged store-failed',
    'sync/store/shared-text notReached store-failed',
  ],
  'test/sync/store/skills/skill-links.test.ts': ['sync/store/skills/skill-links lead store-failed'],
  'test/sync/store/skills/skill-store.slow.test.ts': [
    'sync/store/skills/skill-store expectWhole store-failed',
    'sync/store/skills/skill-store read store-failed',
    'sync/store/skills/stored-path checkDigest store-failed',
  ],
  'test/sync/store/skills/stored-path.test.ts': ['sync/store/skills/stored-path refusal content-refused'],
  'test/sync/store/snapshot-store.test.ts': [
    'sync/store/snapshot-parts one store-failed',
    'sync/store/snapshot-store outline store-failed',
  ],
  'test/sync/store/store.slow.test.ts': [
    'sync/store/objects/database lostLog store-failed',
    'sync/store/store replacedError store-failed',
  ],
  'test/sync/survey/survey.test.ts': ['sync/survey/find-skills count limit-exceeded'],
  'test/features/channel/follow/bad-answers.slow.test.ts': [
    'features/channel/follow/http-place get source-unreachable',
    'features/channel/follow/channel-objects fetchObject content-refused',
    'features/channel/follow/channel-upstream unchanged source-unreachable',
    'features/channel/follow/http-place read source-unreachable',
    'features/channel/follow/http-place read limit-exceeded',
    'features/channel/follow/http-place read limit-exceeded 2',
    'sync/upstream/http/http-redirect tooManyRedirects source-unreachable',
  ],
  'test/features/channel/follow/bad-log.slow.test.ts': ['features/channel/follow/folder-place read source-unreachable'],
  'test/features/channel/follow/log-auditor.slow.test.ts': [
    'features/channel/follow/channel-upstream take content-refused',
    'features/channel/follow/channel-upstream audit limit-exceeded',
    'features/channel/follow/channel-upstream prove source-unreachable',
    'features/channel/follow/channel-upstream recordOfLog source-unreachable',
    'features/channel/follow/channel-upstream continued content-refused',
    'features/channel/follow/channel-upstream prove content-refused',
    'features/channel/follow/channel-upstream audit content-refused',
    'features/channel/follow/channel-upstream readEither source-unreachable',
  ],
  'test/features/channel/follow/replaced-entry.test.ts': [
    'features/channel/follow/channel-objects fetchObject source-unreachable',
  ],
  'test/sync/upstream/folder/directory-upstream.slow.test.ts': [
    'sync/survey/find-skills rootFolder source-unreachable',
    'sync/upstream/folder/folder-objects file limit-exceeded',
    'sync/upstream/folder/folder-tree changeError source-unreachable',
    'sync/upstream/folder/folder-walk tooMany limit-exceeded',
  ],
  'test/sync/upstream/folder/passed-over.slow.test.ts': [
    'sync/upstream/folder/passed-over ignoreFileIn limit-exceeded',
  ],
  'test/sync/git/disk-refs.test.ts': ['sync/git/disk-refs wholeOf limit-exceeded'],
  'test/sync/git/either-upstream.slow.test.ts': ['sync/git/either-upstream withMore given'],
  'test/sync/git/git-disk.slow.test.ts': ['sync/git/disk-objects read content-refused'],
  'test/sync/git/isomorphic/isomorphic.slow.test.ts': [
    'sync/git/isomorphic/isomorphic-failure isomorphicFailure source-unreachable',
    'sync/git/isomorphic/isomorphic-objects withNextStep limit-exceeded',
    'sync/git/isomorphic/limited-fs tooLarge limit-exceeded',
  ],
  'test/sync/git/objects/pack-reader.slow.test.ts': [
    'sync/git/objects/pack-reader tooMany limit-exceeded',
    'sync/git/objects/pack-reader damageError source-unreachable',
    'sync/git/objects/pack-reader expectChecksum source-unreachable',
  ],
  'test/sync/git/objects/tree-walk.test.ts': [
    'sync/upstream/objects/tree-object refusal content-refused',
    'sync/git/objects/tree-walk check limit-exceeded',
  ],
  'test/sync/git/program/git-ssh.test.ts': [
    'sync/git/program/git-ssh-config writeKey credentials-rejected 2',
    'sync/git/program/program-supply expectRoom limit-exceeded',
    'sync/git/program/process-group runToEnd source-unreachable',
    'sync/git/program/program-failure readAs given',
  ],
  'test/sync/git/program/killed-git.test.ts': ['sync/git/worker-protocol errorOf source-unreachable'],
  'test/sync/git/program/process-group.test.ts': ['sync/git/program/process-group constructor source-unreachable'],
  'test/sync/git/smart-http/discover.slow.test.ts': [
    'sync/git/smart-http/discover advertisementOf source-unreachable',
    'sync/git/smart-http/protocol checkedRef source-unreachable',
  ],
  'test/sync/git/smart-http/git-http.slow.test.ts': [
    'sync/git/git-tree openFetch source-unreachable',
    'sync/git/git-worker keepBlob limit-exceeded',
    'sync/git/git-upstream fetch source-unreachable',
    'sync/git/program/program-failure programFailure source-unreachable',
    'sync/git/smart-http/git-http read limit-exceeded',
    'sync/upstream/http/http-failure statusFailure credentials-rejected 2',
  ],
  'test/sync/git/smart-http/pkt-line.test.ts': [
    'sync/git/smart-http/pkt-line end source-unreachable',
    'sync/git/smart-http/pkt-line judge source-unreachable',
    'sync/git/smart-http/pkt-line readLength source-unreachable',
  ],
  'test/features/marketplace/git/push-remote.test.ts': [
    'features/marketplace/git/push-remote treeOf source-unreachable',
    'features/marketplace/git/receive-pack askReceiver source-unreachable',
    'features/marketplace/git/receive-pack pushTo source-unreachable',
  ],
  'test/sync/git/worker-protocol.test.ts': [
    'sync/git/worker-protocol errorOf credentials-rejected',
    'sync/git/worker-protocol errorOf given',
  ],
  'test/sync/upstream/http/credential-headers.test.ts': [
    'sync/upstream/http/credential-headers expectHeader credentials-rejected',
  ],
  'test/sync/upstream/http/host-access.slow.test.ts': [
    'sync/upstream/http/http-failure proxyRefusal source-unreachable',
    'sync/upstream/http/http-failure proxyRefusal credentials-rejected',
    'sync/upstream/http/http-failure connectionFailure source-unreachable',
    'sync/upstream/http/http-watch alarm source-unreachable',
  ],
  'test/sync/upstream/http/http-failure.test.ts': [
    'sync/upstream/http/http-failure failureOf credentials-rejected',
    'sync/upstream/http/http-failure failureOf source-unreachable',
    'sync/upstream/http/http-failure gitFailureOf given',
    'sync/upstream/http/http-failure gitFailureOf given 2',
    'sync/upstream/http/http-failure statusFailure credentials-rejected',
    'sync/upstream/http/http-failure statusFailure credentials-rejected 3',
    'sync/upstream/http/http-failure statusFailure source-unreachable',
    'sync/upstream/http/http-redirect signInRedirect credentials-rejected',
    'sync/upstream/http/http-redirect refusedRedirect source-unreachable',
  ],
  'test/features/mcp-sources/client/mcp-connection.slow.test.ts': [
    'features/mcp-sources/client/http-fetch expect source-unreachable',
    'features/mcp-sources/client/http-answer unreadable source-unreachable',
    'features/mcp-sources/client/http-answer unreadable source-unreachable 2',
    'features/mcp-sources/client/http-answer refused source-unreachable',
    'features/mcp-sources/client/mcp-connection failure source-unreachable',
    'features/mcp-sources/client/http-fetch refuse source-unreachable',
    'features/mcp-sources/client/http-fetch refuse source-unreachable 2',
    'features/mcp-sources/client/http-fetch bounded limit-exceeded',
    'features/mcp-sources/client/json-rpc-connection late source-unreachable',
    'features/mcp-sources/client/json-rpc-connection module source-unreachable',
  ],
  'test/features/mcp-sources/upstream/program.slow.test.ts': [
    'features/mcp-sources/client/program-channel send source-unreachable',
    'features/mcp-sources/client/program-channel refuse limit-exceeded',
    'features/mcp-sources/client/program-channel failure source-unreachable',
  ],
  'test/sync/upstream/unreadable-places.test.ts': [
    'sync/store/snapshot-parts one store-failed 2',
    'features/channel/follow/folder-place read limit-exceeded',
    'features/channel/follow/folder-place read source-unreachable 2',
    'sync/upstream/folder/folder-error readFault source-unreachable',
    'sync/upstream/folder/folder-tree openAt source-unreachable',
    'sync/git/disk-transport unlessAbsent source-unreachable',
    'sync/git/objects/pack-reader inScratch store-failed',
    'sync/git/objects/scratch-folder folderInScratch store-failed',
    'sync/git/program/git-program scratchFailure store-failed',
    'sync/git/program/process-group runToEnd limit-exceeded',
    'sync/git/smart-http/remote-history found limit-exceeded',
  ],
  'test/sync/git/damaged-repositories.slow.test.ts': [
    'sync/git/git-worker readTag content-refused',
    'sync/git/program/program-objects damageError content-refused',
    'sync/git/isomorphic/limited-fs expectSmall limit-exceeded',
    'sync/git/isomorphic/isomorphic-objects object content-refused',
    'sync/git/isomorphic/isomorphic-objects failure content-refused',
    'sync/git/git-worker largeObject limit-exceeded',
    'sync/git/git-worker readTree content-refused',
    'sync/git/git-worker openTree content-refused',
    'sync/git/disk-objects failure source-unreachable',
    'sync/git/disk-objects failure content-refused',
    'sync/git/isomorphic/isomorphic-objects failure source-unreachable',
    'sync/git/disk-transport readable source-unreachable',
  ],
  'test/sync/git/program/odd-git.test.ts': [
    'sync/git/program/program-objects more source-unreachable',
    'sync/git/program/program-objects line source-unreachable',
    'sync/git/program/git-ssh-config writeKey credentials-rejected',
    'sync/git/program/program-supply endReason content-refused',
    'sync/git/program/program-transport noList source-unreachable',
  ],
  'test/daemon/control/requests.slow.test.ts': ['daemon/control/control-redaction redactHandler given'],
  'test/sync/pull/fallback/fallback-source.slow.test.ts': ['sync/pull/pull-locked fromFallback given'],
  'test/sync/upstream/folder/read-authored.test.ts': [
    'sync/upstream/folder/read-authored authoredDocument source-unreachable',
  ],
  'test/features/scan/gate.slow.test.ts': ['features/scan/gate-step gateStep content-refused'],
  'test/features/mcp-sources/client/odd-servers.test.ts': [
    'features/mcp-sources/upstream/named-skills byMethod source-unreachable',
    'features/mcp-sources/client/entry-requests request source-unreachable',
    'features/mcp-sources/client/entry-requests request source-unreachable 2',
    'features/mcp-sources/client/json-rpc-connection giveUp source-unreachable',
    'features/mcp-sources/client/json-rpc-connection dry source-unreachable',
    'features/mcp-sources/client/http-answer unreadable credentials-rejected',
  ],
  'test/features/lock-repository/lock-at-commit.slow.test.ts': [
    'features/lock-repository/lock-follower lockTextAt source-unreachable',
    'features/lock-repository/lock-follower lockTextAt limit-exceeded',
  ],
}

const NOT_YET = 'no run of the tests of its room has reached it yet'

/** The raises without a trigger, each with what a trigger would need. None may be added: write the trigger instead. */
export const UNTRIGGERED: Readonly<Record<string, string>> = {
  'daemon/status/audit/audit-files write store-failed': 'a disk that takes a part of a write and reports no error',
  'daemon/commands/doctor/credential-checks expectReadable credentials-rejected':
    'a file that the user may not read: root, which the suites under faults need, reads all',
  'daemon/cli/store-reader expectLockable source-unreachable':
    'a folder with a part that the user may not read: root, which the suites under faults need, reads all',
  'features/channel/log-checks bytesAt source-unreachable':
    'a file that the user may not read: root, which the suites under faults need, reads all',
  'features/mcp-sources/remote-files refusalOf content-refused': NOT_YET,
  'features/mcp-sources/remote-files mismatchOf content-refused': NOT_YET,
  'features/mcp-sources/remote-files refusal content-refused': NOT_YET,
  'daemon/access/github-app-tokens askForToken source-unreachable':
    'a host that is silent for the whole of a fixed time limit',
  'features/marketplace/enrollment/enroll-check failureFor source-unreachable':
    'a host that is silent for the whole of a fixed time limit',
  'features/lock-repository/lock-follower expectContinued source-unreachable': NOT_YET,
  'daemon/writer again store-failed':
    'a hub of several processes whose daemon cannot start again with the configuration that it had',
  'features/marketplace/publish/branch-publisher attempt store-failed':
    'a catalog that becomes incomplete between a failure to publish and the next attempt',
  'features/channel/publish/channel-keeper attempt store-failed': NOT_YET,
  'features/channel/publish/channel-publisher expectStored store-failed':
    'an object that is lost between the write of a generation and its publication',
  'features/channel/publish/channel-publisher readLog store-failed':
    'a log that is replaced between a write of it that failed and the next attempt',
  'features/channel/publish/cosigned-head record store-failed':
    'a hub of several processes that share a database, in the moment after the lead has passed to another one',
  'features/channel/publish/shared-channel appendRest store-failed':
    'a hub of several processes that share a database, in the moment after the lead has passed to another one',
  'features/channel/publish/shared-channel append store-failed':
    'a hub of several processes that share a database, in the moment after the lead has passed to another one',
  'features/channel/publish/shared-channel bring store-failed':
    'a hub of several processes that share a database, in the moment after the lead has passed to another one',
  'features/hub-of-several/replica epoch store-failed':
    'a hub of several processes that share a database, in the moment after the lead has passed to another one',
  'features/hub-of-several/shared-files push store-failed':
    'a hub of several processes that share a database, in the moment after the lead has passed to another one',
  'sync/pull/fetch-snapshot read store-failed': 'the last defense: an earlier check of the same pull refuses it first',
  'sync/store/files/journal writeAll store-failed': 'lines of half a gigabyte, which take twice that memory',
  'sync/store/generation-store replace store-failed':
    'two processes that publish between one read and one write of the same head',
  'sync/postgres/shared-logs refusal store-failed':
    'a hub of several processes that share a database, in the moment after the lead has passed to another one',
  'sync/survey/survey bytesOf store-failed': 'the last defense: an earlier check of the same pull refuses it first',
  'sync/upstream/folder/passed-over judge limit-exceeded':
    'a folder whose comparison with its ignore files takes a minute',
  'sync/git/fetch-threads startFailure source-unreachable':
    'a thread that the system does not start, or ends, for lack of memory',
  'sync/git/program/program-transport list source-unreachable':
    'a host that is silent for the whole of a fixed time limit',
  'sync/git/second-opinion/second-opinion late limit-exceeded':
    'a comparison that takes the whole of a fixed time limit',
  'sync/git/second-opinion/second-opinion explanationOf limit-exceeded':
    'a thread that the system does not start, or ends, for lack of memory',
  'sync/git/object-worker explanationOf limit-exceeded':
    'a thread that the system does not start, or ends, for lack of memory',
  'sync/git/object-worker explanationOf store-failed':
    'a thread that the system does not start, or ends, for lack of memory',
  'features/mcp-sources/client/program-channel hear source-unreachable':
    'an error that Node reports of a process after its start, as where it cannot be ended',
  'features/mcp-sources/upstream/pages pageOf source-unreachable':
    'a server that is silent for the whole of a fixed time limit',
}
