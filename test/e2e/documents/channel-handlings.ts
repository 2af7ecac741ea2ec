import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { START } from './handling.ts'
import type { Handling, Handlings } from './handling.ts'
import type { ShellHome } from './shell-home.ts'

const KEY_FILES = "key: [{ file: 'channel.key' }, { file: 'next.key' }]"

/** The configuration of the hub before it has a channel. */
const HUB = `sources:
  - id: team
    url: https://git.example.com/team/skills.git
packs: [{ id: web, include: [{ source: team }] }]
serve: { http: { port: 0 } }
`

/** The hub of the document, and the machines that follow it. The disk of the document is a folder beside their homes. */
export const CHANNEL: Handlings = {
  'skillsyncd hub channel new-key skills.example.com/channel --out ~/.config/skillsyncd/channel.key': {
    before: async (home) => home.move('hub', HUB),
    says: /^skills\.example\.com\/channel\+[\da-f]{8}\+/,
    after: async (home) =>
      home.edit((text) => `${text}channel: { name: skills.example.com/channel, key: { file: channel.key } }\n`),
  },
  'skillsyncd start': START,
  'skillsyncd status': {
    before: upToDate,
    says: /channel at \/channel\/: up to date at entry 1\n/,
  },
  'skillsyncd hub channel keys': { says: /^skills\.example\.com\/channel\+\S+ {2}everything\n/ },
  'skillsyncd hub token add site-b --scope channel': { says: /^sks_/ },
  'skillsyncd sync hub': {
    before: async (home) => {
      const { http } = JSON.parse((await home.run('skillsyncd status --json')).stdout)
      await follow(home, 'site', `url: ${new URL('/channel/', http.url).href}`)
    },
  },
  'skillsyncd list': { says: /review/ },
  'skillsyncd why review': {
    says: /\n {2}hub +team, https:\/\/git\.example\.com\/team\/skills\.git, refs\/heads\/main -> [\da-f]{40}\n {2}hub +entry 1 of the log /,
  },
  'skillsyncd hub publish --to /media/usb/channel': {
    before: async (home) => home.return('hub'),
    as: onDisk,
    says: /up to date at entry 1, \d+ new objects written/,
  },
  'skillsyncd sync --offline': {
    before: async (home) => follow(home, 'island', `path: ${await onDisk('/media/usb/channel', home)}`),
    after: async (home) => expect((await home.run('skillsyncd list')).stdout).toContain('review'),
  },
  'skillsyncd verify': {},
  'skillsyncd hub channel new-key witness.example.com --out ~/witness.key --witness': {
    says: /^witness\.example\.com\+[\da-f]{8}\+B\S+\n/,
  },
  'skillsyncd hub witness --key ~/witness.key --state ~/witness --log skills.example.com/channel+b5f47017+AYEGw220L/AsMBklAJFm0neRDwqD54Cr0OZP4nJZ0mhW':
    { skip: 'it stays beside the hub, at a port of its own: witness.test.ts runs it' },
  'skillsyncd hub export --proof review.proof.json team/review': { says: /entry 1, 1 skill\n/ },
  'skillsyncd verify --proof review.proof.json --key skills.example.com/channel+b5f47017+AYEGw220L/AsMBklAJFm0neRDwqD54Cr0OZP4nJZ0mhW':
    {
      as: withKeyOf('island'),
      says: /skill team\/review: review, served, digest sha256:[\da-f]{64}\n[^]*proved: nothing found\n/,
    },
  'skillsyncd verify --log': { says: /: 1 entry, of [^]*; entry 1 is served, of [^]*\n1 log: nothing found\n/ },
  'skillsyncd hub token add web-site --scope channel --pack web': {
    before: async (home) => home.return('hub'),
    says: /^sks_/,
  },
  'skillsyncd hub publish --to /media/usb/web --pack web': {
    as: onDisk,
    after: async (home) => {
      const checkpoint = await readFile(await onDisk('/media/usb/web/checkpoint', home), 'utf8')
      expect(checkpoint).toMatch(/^skills\.example\.com\/channel\/web\n/)
    },
  },
  "skillsyncd disable team/review --followers --reason 'sends files to a stranger: INC-4711'": {
    before: async (home) => home.return('hub'),
    says: /^[\da-f]{64}: recalled\n {2}team\/review is out of service\n/,
  },
  "skillsyncd disable sha256:6c8f2ad1c0b94e7f35a86bd2e4917c30f5a2b8d94e61c7730b1f9a8c5d2e4f60 --followers --reason 'INC-4712, not here yet'":
    { says: /^[\da-f]{64}: recalled\n$/ },
  'skillsyncd disable --followers': { says: /: recalled: sends files to a stranger: INC-4711 \(/ },
  'skillsyncd disable --report 3f2c9d1e5b7a': {
    as: async (line, home) => `${await ofFirstRecall(line, home)} || test $? = 3`,
    says: /\d obeyed, \d not seen since, \d cannot be reached\n/,
  },
  'skillsyncd enable team/review': { says: /^team\/review: enabled, also at all followers\n$/ },
  'skillsyncd enable 3f2c9d1e5b7a': { as: ofRecallInForce, says: /^[\da-f]{64}: ended\n$/ },
  'skillsyncd hub channel new-key skills.example.com/channel --out ~/.config/skillsyncd/next.key': {
    after: async (home) => home.edit((text) => text.replace('key: { file: channel.key }', KEY_FILES)),
  },
  'skillsyncd reload': {
    after: async (home) => {
      await upToDate(home)
      await home.run(await onDisk('skillsyncd hub publish --to /media/usb/channel', home))
      const checkpoint = await readFile(await onDisk('/media/usb/channel/checkpoint', home), 'utf8')
      expect(checkpoint.match(/^— skills\.example\.com\/channel /gm)).toHaveLength(2)
    },
  },
}

/** The line with the key of the hub, run on that machine. */
function withKeyOf(machine: string): NonNullable<Handling['as']> {
  return async (line, home) => {
    home.return('hub')
    const { keys } = JSON.parse((await home.run('skillsyncd hub channel keys --json')).stdout)
    home.return(machine)
    return line.replace(/(--key )\S+/, `$1${keys[0].key}`)
  }
}

/** The hub publishes after the pull that a command waits for. */
async function upToDate(home: ShellHome): Promise<void> {
  const status = async (): Promise<string> => (await home.run('skillsyncd status')).stdout
  await expect.poll(status).toMatch(/channel at \/channel\/: up to date/)
}

/** The line with the id of the first recall. */
async function ofFirstRecall(line: string, home: ShellHome): Promise<string> {
  const { recalls } = JSON.parse((await home.run('skillsyncd disable --followers --json')).stdout)
  return line.replace('3f2c9d1e5b7a', recalls[0].id.slice(0, 12))
}

/** The line with the id of the recall that is still in force. */
async function ofRecallInForce(line: string, home: ShellHome): Promise<string> {
  const { recalls } = JSON.parse((await home.run('skillsyncd disable --followers --json')).stdout)
  const inForce = recalls.find((recall: { readonly revoked?: string }) => recall.revoked === undefined)
  return line.replace('3f2c9d1e5b7a', inForce.id.slice(0, 12))
}

/** The line with the place of the disk on this machine. */
async function onDisk(line: string, home: ShellHome): Promise<string> {
  return line.replace('/media/usb', join(home.path, '../usb'))
}

/** The next lines run on another machine, which follows the channel. The hub goes on. */
async function follow(home: ShellHome, machine: string, place: string): Promise<void> {
  home.return('hub')
  const { keys } = JSON.parse((await home.run('skillsyncd hub channel keys --json')).stdout)
  home.return(machine)
  await mkdir(join(home.configFile, '..'), { recursive: true })
  const source = ['id: hub', 'follow:', `  ${place}`, `  key: ${keys[0].key}`].join('\n    ')
  await writeFile(home.configFile, `sources:\n  - ${source}\nserve: { http: { port: 0 } }\n`)
}
