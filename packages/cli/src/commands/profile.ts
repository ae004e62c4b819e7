import { Command } from '@commander-js/extra-typings'

import { checkedUrl, environmentOf, isExposed, portHere } from '../connection.ts'
import { CommandError } from '../exit-codes.ts'
import { harmlessJson } from '../output/harmless.ts'
import { showList } from '../output/show.ts'
import type { Column } from '../output/table.ts'
import {
  changeProfiles,
  profileName,
  profilesPath,
  readProfiles,
  type Profile,
  type Profiles,
} from '../profiles.ts'
import type { Io } from '../io.ts'

/** The public part of a profile, with only a hint of its key. */
interface ShownProfile {
  readonly name: string
  readonly url: string
  readonly environment: string
  readonly key_hint: string
  readonly is_current: boolean
}

const columns: readonly Column<ShownProfile>[] = [
  { title: 'name', cell: ({ name, is_current }) => `${is_current ? '* ' : '  '}${name}` },
  { title: 'url', cell: ({ url }) => url },
  { title: 'key', cell: ({ environment, key_hint }) => `${environment} …${key_hint}` },
]

const jsonHelp = 'print one JSON document'

export function profileCommand(io: Io) {
  return new Command('profile')
    .summary('manage named services and keys')
    .addCommand(addCommand(io))
    .addCommand(listProfilesCommand(io))
    .addCommand(useCommand(io))
    .addCommand(removeCommand(io))
}

function addCommand(io: Io) {
  return new Command('add')
    .summary('save a service and a key under a name')
    .description(
      'Saves the URL of a service and a key in a file that only this user can read. Prompts for the key without echo, or reads it from a pipe: purser profile add prod --url https://purser.example.com < key.txt. The first profile is the current one.',
    )
    .argument('<name>', 'letters, digits, dots and dashes')
    .option(
      '--url <address>',
      'URL of the service; default PURSER_URL, or the service that is configured in this folder',
    )
    .option('--replace', 'replace a profile of this name')
    .option('--json', jsonHelp)
    .action(async (name, options) => {
      if (!profileName.test(name)) {
        throw new CommandError(
          'A name has letters, digits, dots, dashes and underscores, at most 64',
          'usage',
        )
      }
      const url = options.url === undefined ? defaultUrl(io) : checkedUrl(options.url, '--url')
      const refuseTaken = ({ profiles }: Profiles) => {
        if (!Object.hasOwn(profiles, name) || options.replace) return
        throw new CommandError(`profile ${name} already exists; --replace replaces it`)
      }
      refuseTaken(readProfiles(io))
      const key = checkedKey(await io.readSecret(`API key for ${url}`))
      const profile = { url, key }
      const { current: next } = await changeProfiles(io, (saved) => {
        // Another command may have saved one during the prompt.
        refuseTaken(saved)
        return { current: saved.current ?? name, profiles: { ...saved.profiles, [name]: profile } }
      })
      if (isExposed(url)) {
        io.printError('This URL is not https: the key is sent in the clear.')
      }
      const shown = toShown(name, profile, next)
      io.print(
        options.json
          ? harmlessJson(shown, 2)
          : [
              `Saved ${name} for ${url} in ${profilesPath(io)}${next === name ? '; it is now the current profile' : ''}.`,
              `The key was not checked: ${io.calledAs} doctor --profile ${name} checks it.`,
            ].join('\n'),
      )
    })
}

/** The service that PURSER_URL names, or that `purser serve` starts in this folder. */
function defaultUrl(io: Io): string {
  const { PURSER_URL: url } = io.environment
  if (url) return checkedUrl(url, 'PURSER_URL')
  const port = portHere(io)
  if (port !== undefined) return `http://127.0.0.1:${port}`
  throw new CommandError('PURSER_PORT is not a fixed port; name the service with --url', 'usage')
}

function listProfilesCommand(io: Io) {
  return new Command('list')
    .summary('list profiles, without their keys')
    .option('--json', jsonHelp)
    .action((options) => {
      const { current, profiles } = readProfiles(io)
      const shown = Object.entries(profiles).map(([name, profile]) => toShown(name, profile, current))
      const none = `There are no profiles yet; ${io.calledAs} profile add saves one.`
      showList(columns, shown, { ...options, none }, io)
    })
}

function useCommand(io: Io) {
  return new Command('use')
    .summary('make a profile the current one')
    .argument('<name>')
    .option('--json', jsonHelp)
    .action(async (name, options) => {
      const { profiles } = await changeProfiles(io, (saved) => {
        known(name, saved.profiles)
        return { ...saved, current: name }
      })
      const profile = known(name, profiles)
      const { PURSER_API_KEY: key, PURSER_URL: url } = io.environment
      if (key || url) io.printError('PURSER_API_KEY or PURSER_URL is set and overrides it.')
      io.print(
        options.json ? harmlessJson(toShown(name, profile, name), 2) : `${name} is now the current profile.`,
      )
    })
}

function removeCommand(io: Io) {
  return new Command('remove')
    .summary('remove a profile and its key')
    .description('Removes a profile and its key. The key keeps working: purser keys revoke revokes it.')
    .argument('<name>')
    .option('--json', jsonHelp)
    .action(async (name, options) => {
      const profile = known(name, readProfiles(io).profiles)
      const { current: next } = await changeProfiles(io, ({ current, profiles }) => {
        const left = Object.fromEntries(Object.entries(profiles).filter(([other]) => other !== name))
        return { current: current === name ? null : current, profiles: left }
      })
      io.print(
        options.json
          ? harmlessJson(toShown(name, profile, next), 2)
          : `Removed ${name}; its key still works.`,
      )
    })
}

function known(name: string, profiles: Readonly<Record<string, Profile>>): Profile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (!profile) throw new CommandError(`there is no profile ${name}`, 'notFound')
  return profile
}

function toShown(name: string, { url, key }: Profile, current: string | null): ShownProfile {
  return {
    name,
    url,
    environment: environmentOf(key) ?? 'unknown',
    key_hint: key.slice(-4),
    is_current: name === current,
  }
}

/** A key begins with its environment; anything else was pasted by mistake. */
function checkedKey(key: string): string {
  if (environmentOf(key) && /^[\x21-\x7e]+$/.test(key)) return key
  throw new CommandError('this is not a Purser key: keys begin with svc_sand_ or svc_prod_', 'usage')
}
