import { spawnSync } from 'node:child_process'
import { copyFile, readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { refusalOfUrl } from '../src/daemon/access/open-shared.ts'
import { COMMANDS } from '../src/daemon/command-table.ts'
import type { Config } from '../src/daemon/config/config.ts'
import { environmentOf } from '../src/daemon/config/environment.ts'
import { parseConfig } from '../src/daemon/configuration.ts'
import { faultsOf } from './documents/command-faults.ts'
import { temporaryFolder } from './support/temporary.ts'

// The files are read here. `test/peers/hub-of-several.test.ts` runs the hub as they say it.

const examples = fileURLToPath(new URL('../examples/', import.meta.url))
const folder = join(examples, 'hub-of-several')

describe('examples/hub-of-several', async () => {
  const compose = parse(await readFile(join(folder, 'compose.yaml'), 'utf8'), { merge: true })
  const services: Readonly<Record<string, any>> = compose.services
  const hubs = Object.entries(services).filter(([name]) => name.startsWith('hub-'))

  test('each volume and each secret is declared and used, and each file is there', async () => {
    const mounts = Object.values(services).flatMap(({ volumes = [] }) =>
      volumes.map((mount: string) => mount.split(':')[0]),
    )
    const secrets = Object.values(services).flatMap(({ secrets = [] }) => secrets)
    const files = new Set(mounts.filter((name) => name.startsWith('./')))

    expect(new Set(mounts.filter((name) => !name.startsWith('./')))).toEqual(new Set(Object.keys(compose.volumes)))
    for (const file of files) expect((await stat(join(folder, file))).isFile(), file).toBe(true)
    expect(new Set(secrets)).toEqual(new Set(Object.keys(compose.secrets)))
    expect(services['migrate'].secrets).toEqual(['owner_url'])
    for (const [, { secrets: ofHub }] of hubs) expect(ofHub).toEqual(['hub_url'])
  })

  test('the processes differ in their state folder alone, and start once the schema is there', () => {
    const [first, second] = hubs.map(([, service]) => service)

    expect(hubs).toHaveLength(2)
    expect({ ...first, volumes: [] }).toEqual({ ...second, volumes: [] })
    expect(first.volumes[0]).not.toBe(second.volumes[0])
    expect(first.volumes[0]).toMatch(/:\/var\/lib\/skillsyncd$/)
    expect(first.volumes[1]).toBe(second.volumes[1])
    expect(first.depends_on).toEqual({ migrate: { condition: 'service_completed_successfully' } })
    expect(services['migrate'].depends_on).toEqual({ database: { condition: 'service_healthy' } })
  })

  test('its commands are commands, its configuration is one, and only this machine reaches the proxy', async () => {
    const config = await configIn(await readFile(join(folder, 'skillsyncd.yaml'), 'utf8'))

    expect(await faultsOf(services['migrate'].command)).toEqual([])
    expect(config.postgres).toEqual({ url: { kind: 'file', path: '/run/secrets/hub_url' } })
    expect(services['proxy'].ports).toEqual(['127.0.0.1:8741:80'])
    expect(Object.values(services).filter(({ ports }) => ports !== undefined)).toHaveLength(1)
    for (const [name] of hubs)
      expect(await readFile(join(folder, 'nginx.conf'), 'utf8')).toContain(`server ${name}:${config.serve.http.port} `)
  })

  test('secrets.sh makes each secret once, in a folder that others cannot enter, with addresses that are accepted', async () => {
    await using copy = await temporaryFolder()
    const script = join(copy.path, 'secrets.sh')
    await copyFile(join(folder, 'secrets.sh'), script)

    const first = spawnSync('sh', [script], { encoding: 'utf8' })
    const made = Object.values<{ readonly file: string }>(compose.secrets).map(({ file }) => join(copy.path, file))
    const texts = await Promise.all(made.map(async (file) => readFile(file, 'utf8')))
    const again = spawnSync('sh', [script], { encoding: 'utf8' })

    expect(first).toMatchObject({ status: 0, stdout: '', stderr: '' })
    expect(await readdir(join(copy.path, 'secrets'))).toHaveLength(made.length)
    expect((await stat(join(copy.path, 'secrets'))).mode & 0o777).toBe(0o700)
    const urls = texts.filter((text) => text.includes('://'))
    expect(urls).toHaveLength(2)
    for (const url of urls) expect(refusalOfUrl(url.trim())).toBeUndefined()
    expect(again.status).not.toBe(0)
    expect(await Promise.all(made.map(async (file) => readFile(file, 'utf8')))).toEqual(texts)
  })

  test('a secret that was made is not committed', async () => {
    expect(await readFile(join(examples, '../.gitignore'), 'utf8')).toContain('\nexamples/hub-of-several/secrets/\n')
  })
})

describe('examples/kubernetes/hub-of-several.yaml', async () => {
  const manifest = parseAllDocuments(await readFile(join(examples, 'kubernetes/hub-of-several.yaml'), 'utf8')).map(
    (document) => {
      if (document.errors.length > 0) throw new Error(document.errors.join('\n'))
      return document.toJS()
    },
  )
  const set = manifest.find(({ kind }) => kind === 'StatefulSet')
  const job = manifest.find(({ kind }) => kind === 'Job')
  const pods = [job.spec.template.spec, set.spec.template.spec]
  const containers = pods.flatMap(({ initContainers = [], containers: run }) => [...initContainers, ...run])

  test('it has two pods, of which one may be away, and whose labels all parts name', () => {
    const labels = set.spec.template.metadata.labels

    expect(manifest.map(({ kind }) => kind)).toEqual([
      'ConfigMap',
      'Job',
      'StatefulSet',
      'PodDisruptionBudget',
      'Service',
    ])
    expect(set.spec.replicas).toBe(2)
    expect(set.spec.selector.matchLabels).toEqual(labels)
    expect(manifest.find(({ kind }) => kind === 'Service').spec.selector).toEqual(labels)
    expect(manifest.find(({ kind }) => kind === 'PodDisruptionBudget').spec).toEqual({
      maxUnavailable: 1,
      selector: { matchLabels: labels },
    })
    expect(set.spec.template.spec.topologySpreadConstraints[0].labelSelector.matchLabels).toEqual(labels)
    expect(manifest.every(({ metadata }) => metadata.namespace === 'skills')).toBe(true)
  })

  test('every volume that is mounted is there, and every volume is mounted', () => {
    for (const [index, pod] of pods.entries()) {
      const claims = index === 1 ? set.spec.volumeClaimTemplates.map(({ metadata }: any) => metadata) : []
      const mounted = [...(pod.initContainers ?? []), ...pod.containers].flatMap(({ volumeMounts }) => volumeMounts)

      expect(new Set(mounted.map(({ name }) => name))).toEqual(
        new Set([...pod.volumes, ...claims].map(({ name }) => name)),
      )
    }
  })

  test('it keeps the restricted profile of the Pod Security Standards, on a file system that is read only', () => {
    for (const { automountServiceAccountToken, securityContext } of pods) {
      expect(automountServiceAccountToken).toBe(false)
      expect(securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      })
    }
    for (const { securityContext } of containers)
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    expect(set.spec.template.spec.securityContext).toMatchObject({
      fsGroup: 1000,
      fsGroupChangePolicy: 'OnRootMismatch',
    })
  })

  test('its commands are commands, its configuration is one, and each secret is mounted where it is read', async () => {
    const config = await configIn(manifest.find(({ kind }) => kind === 'ConfigMap').data['skillsyncd.yaml'])
    const [migrate, token, daemon] = containers
    const pathsOf = ({ volumeMounts }: any): string[] => volumeMounts.map(({ mountPath }: any) => mountPath)

    for (const { args } of containers) expect(await faultsOf(args)).toEqual([])
    expect(COMMANDS.has('store migrate')).toBe(true)
    expect(config.postgres).toEqual({ url: { kind: 'file', path: '/run/secrets/database/url' } })
    expect(pathsOf(migrate)).toContain('/run/secrets/owner')
    expect(pathsOf(token)).toEqual(
      expect.arrayContaining(['/run/secrets/database', '/run/secrets/token', '/etc/skillsyncd']),
    )
    expect(pathsOf(daemon)).toEqual(
      expect.arrayContaining(['/run/secrets/database', '/var/lib/skillsyncd', '/etc/skillsyncd']),
    )
    expect(pathsOf(daemon)).not.toContain('/run/secrets/owner')
    expect(daemon.ports[0].containerPort).toBe(config.serve.http.port)
  })
})

async function configIn(text: string): Promise<Config> {
  const config = parseConfig(text, '/etc/skillsyncd/skillsyncd.yaml', environmentOf({}, '/'))
  if (Array.isArray(config)) throw new Error(JSON.stringify(config))
  return config
}
