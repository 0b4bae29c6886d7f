/**
 * Stand-ins for the stack's images, built under the official names where images cannot be pulled: the programs of the local processes
 * (including Kafka's own translation of its environment) on a base of busybox and the C library. They test how we talk to images
 * (environment, commands, ports, volumes), not the official images' base systems.
 */
import { execFile } from 'node:child_process'
import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gatewayFolder } from '../../deploy/local/bucket.ts'
import { findJava } from '../../deploy/local/java.ts'
import { kafkaLibraries } from '../../deploy/local/kafka.ts'
import { NATIVE_FOLDER } from '../../deploy/local/postgres.ts'
import { registryFolder } from '../../deploy/local/registry.ts'
import { IMAGES } from '../../deploy/local/settings.ts'

const run = promisify(execFile)

/** One image: `fill` fills the folder that becomes its root; `lines` are the rest of its Containerfile. */
type Recipe = { name: string; from: 'scratch' | typeof BASE | typeof JAVA; fill(root: string): Promise<void>; lines: string[] }

const BASE = 'localhost/dps-base'
const JAVA = 'localhost/dps-java'

/** Copies a program to `target`, and the libraries that the loader finds for it to their own paths. */
async function copyProgram(root: string, program: string, target = program): Promise<void> {
  await copy(root, program, target)
  await copyLibraries(root, program)
}

async function copyLibraries(root: string, program: string): Promise<void> {
  const { stdout } = await run('ldd', [program])
  for (const [, path] of stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)) await copy(root, path!, path!)
}

async function copy(root: string, from: string, to: string): Promise<void> {
  const target = join(root, to)
  await mkdir(dirname(target), { recursive: true })
  await cp(from, target, { dereference: true, recursive: true })
}

async function script(root: string, path: string, lines: string[]): Promise<void> {
  const target = join(root, path)
  await mkdir(dirname(target), { recursive: true })
  await writeFile(target, `#!/bin/sh\nset -e\n${lines.join('\n')}\n`, { mode: 0o755 })
}

const RECIPES: Recipe[] = [
  {
    name: BASE,
    from: 'scratch',
    async fill(root) {
      await copy(root, '/bin/busybox', '/bin/busybox')
      const { stdout } = await run('/bin/busybox', ['--list'])
      for (const applet of stdout.split('\n').filter((each) => each !== '' && each !== 'busybox'))
        await symlink('busybox', join(root, 'bin', applet))
      const users = ['root:x:0:0::/root:/bin/sh', 'postgres:x:70:70::/var/lib/postgresql:/bin/sh', 'appuser:x:1000:1000::/tmp:/bin/sh']
      await mkdir(join(root, 'etc'), { recursive: true })
      await writeFile(join(root, 'etc', 'passwd'), `${users.join('\n')}\n`)
      await writeFile(join(root, 'etc', 'group'), 'root:x:0:\npostgres:x:70:\nappuser:x:1000:\n')
      await writeFile(join(root, 'etc', 'nsswitch.conf'), 'hosts: files dns\n')
      for (const folder of ['root', 'tmp', 'var/lib', 'mnt']) await mkdir(join(root, folder), { recursive: true })
    },
    lines: ['RUN ["/bin/chmod", "1777", "/tmp"]', 'ENV PATH=/usr/local/bin:/usr/bin:/bin'],
  },
  {
    name: JAVA,
    from: BASE,
    async fill(root) {
      const { stdout } = await run('readlink', ['-f', await findJava(21)])
      const home = dirname(dirname(stdout.trim()))
      for (const part of ['bin', 'conf', 'lib', 'release']) await copy(root, join(home, part), join('/opt/java', part))
      await rm(join(root, 'opt/java/lib/src.zip'), { force: true })
      for (const library of ['bin/java', 'lib/server/libjvm.so', 'lib/libnio.so', 'lib/libzip.so', 'lib/libmanagement_ext.so'])
        await copyLibraries(root, join(home, library))
    },
    lines: ['ENV PATH=/opt/java/bin:/usr/local/bin:/usr/bin:/bin'],
  },
  {
    name: IMAGES.kafka,
    from: JAVA,
    async fill(root) {
      await copy(root, await kafkaLibraries(), '/opt/kafka/libs')
      for (const [file, content] of Object.entries(KAFKA_DEFAULTS)) {
        await mkdir(join(root, 'etc/kafka/docker'), { recursive: true })
        await writeFile(join(root, 'etc/kafka/docker', file), content)
      }
      for (const folder of ['mnt/shared/config', 'opt/kafka/config', 'var/lib/kafka/data'])
        await mkdir(join(root, folder), { recursive: true })
      await script(root, '/etc/kafka/docker/run', [
        'export CLASSPATH="/opt/kafka/libs/*"',
        // A volume from an earlier start is already formatted; the official image tolerates that too.
        `said=$(java -Xmx128m kafka.docker.KafkaDockerWrapper setup --default-configs-dir /etc/kafka/docker --mounted-configs-dir /mnt/shared/config --final-configs-dir /opt/kafka/config 2>&1) || case "$said" in *"already formatted"*) ;; *) echo "$said"; exit 1 ;; esac`,
        'exec java -Xms256m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dlog4j2.configurationFile=/opt/kafka/config/log4j2.yaml kafka.Kafka /opt/kafka/config/server.properties',
      ])
    },
    lines: [
      'RUN ["/bin/chown", "-R", "appuser", "/opt/kafka/config", "/var/lib/kafka", "/mnt/shared"]',
      'VOLUME /var/lib/kafka/data',
      'USER appuser',
      'CMD ["/etc/kafka/docker/run"]',
    ],
  },
  {
    name: IMAGES.registry,
    from: JAVA,
    fill: async (root) => {
      await copy(root, await registryFolder(), '/deployments')
      await mkdir(join(root, 'data'), { recursive: true })
    },
    lines: [
      'USER appuser',
      'CMD ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dquarkus.http.host=0.0.0.0", "-jar", "/deployments/quarkus-run.jar"]',
    ],
  },
  {
    name: IMAGES.postgres,
    from: BASE,
    async fill(root) {
      await copy(root, NATIVE_FOLDER, '/opt/postgres')
      for (const program of ['postgres', 'initdb']) await copyLibraries(root, join(NATIVE_FOLDER, 'bin', program))
      await mkdir(join(root, 'var/lib/postgresql'), { recursive: true })
      await script(root, '/usr/local/bin/docker-entrypoint.sh', [
        'export PGDATA=/var/lib/postgresql/18/docker',
        'mkdir -p "$PGDATA"; chown -R postgres /var/lib/postgresql; chmod 700 "$PGDATA"',
        'if [ ! -s "$PGDATA/PG_VERSION" ]; then',
        '  printf %s "$POSTGRES_PASSWORD" > /tmp/password; chown postgres /tmp/password',
        '  su postgres -c "/opt/postgres/bin/initdb --username=$POSTGRES_USER --pwfile=/tmp/password --auth=scram-sha-256 --locale=C --encoding=UTF8 -D $PGDATA"',
        '  echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"',
        'fi',
        'shift',
        'arguments=""; for each in "$@"; do arguments="$arguments \'$each\'"; done',
        'exec su postgres -c "exec /opt/postgres/bin/postgres -c listen_addresses=\'*\' -c unix_socket_directories= -D $PGDATA $arguments"',
      ])
    },
    lines: ['VOLUME /var/lib/postgresql', 'ENTRYPOINT ["docker-entrypoint.sh"]', 'CMD ["postgres"]'],
  },
  {
    name: IMAGES.redis,
    from: BASE,
    async fill(root) {
      const { stdout } = await run('which', ['redis-server'])
      await copyProgram(root, stdout.trim(), '/usr/local/bin/redis-server')
      await mkdir(join(root, 'data'), { recursive: true })
    },
    // Like the official image: without a bind address and a password, it accepts clients from other hosts.
    lines: [
      'VOLUME /data',
      'WORKDIR /data',
      'ENTRYPOINT ["/bin/sh", "-c", "shift 1; exec redis-server --protected-mode no \\"$@\\"", "redis"]',
      'CMD ["redis-server"]',
    ],
  },
  {
    name: IMAGES.bucket,
    from: BASE,
    fill: async (root) => copyProgram(root, join(await gatewayFolder(), 'versitygw'), '/usr/local/bin/versitygw'),
    lines: ['ENTRYPOINT ["versitygw"]'],
  },
]

const KAFKA_DEFAULTS = {
  'server.properties': 'process.roles=broker,controller\nnode.id=1\n',
  'log4j2.yaml': `Configuration:
  Appenders:
    Console:
      name: STDOUT
      PatternLayout:
        pattern: "[%d] %p %m (%c)%n"
  Loggers:
    Root:
      level: INFO
      AppenderRef:
        ref: STDOUT
`,
  'tools-log4j2.yaml': 'Configuration:\n  Loggers:\n    Root:\n      level: WARN\n',
}

/** Builds the images that `podman` does not have yet. `folder` holds their build contexts. */
export async function buildImages(podman: (args: string[]) => Promise<string>, folder: string, say: (line: string) => void): Promise<void> {
  for (const { name, from, fill, lines } of RECIPES) {
    if (
      await podman(['image', 'exists', name]).then(
        () => true,
        () => false,
      )
    )
      continue
    say(`building a stand-in for ${name} (once)`)
    const context = join(folder, name.replaceAll(/[^a-z0-9]+/g, '-'))
    await rm(context, { recursive: true, force: true })
    await mkdir(join(context, 'root'), { recursive: true })
    await fill(join(context, 'root'))
    // Cached files are readable by their owner only, but an image may run as another user.
    await run('chmod', ['-R', 'a+rX', join(context, 'root')])
    await writeFile(join(context, 'Containerfile'), `FROM ${from}\nCOPY root/ /\n${lines.join('\n')}\n`)
    await podman([
      'build',
      '--quiet',
      '--tag',
      name.includes('/') ? (name.startsWith('localhost/') ? name : `docker.io/${name}`) : `docker.io/library/${name}`,
      context,
    ])
    await rm(context, { recursive: true, force: true })
  }
}
