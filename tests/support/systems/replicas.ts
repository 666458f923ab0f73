// Two replicas of every process behind a balancer, which tests restart and kill under a steady load.
import { expect } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Balancer, startBalancer } from './balancer.js';
import { type Fleet, type Member, startFleet } from './fleet.js';
import { type KeepAliveResult, startKeepAlive } from '../clients/keep-alive.js';
import { eventually } from './process.js';

const knownKeysMs = 60_000;
/** Longer than callers take to reconnect to a replica that is back: up to 1.2 s, and more on a busy machine. */
export const lameDuck = '4s';

/** A fleet with two replicas of every process. */
export class Replicas {
  /** The calls of `underLoad` that were answered, and those that a test adds. */
  answered = 0;

  private constructor(
    readonly fleet: Fleet,
    private readonly balancer: Balancer,
    private readonly load: { readonly connections: number; readonly pauseMs: number },
  ) {}

  /** Starts `started` of the two replicas of each process. `load` is the size of the load, without the connections of the client libraries. */
  static async start(started: 1 | 2, load: { readonly connections: number; readonly pauseMs: number }): Promise<Replicas> {
    const fleet = await startFleet({
      replicas: 2,
      started,
      env: {
        TOLLGATE_LOG_LEVEL: 'warn',
        TOLLGATE_LAME_DUCK: lameDuck,
        TOLLGATE_GATEWAY_KEYS_WITHOUT_AUTH: `${knownKeysMs}ms`,
        // A killed gateway leaves calls without an end.
        TOLLGATE_METERING_LEASE: '5s',
        TOLLGATE_METERING_SWEEP_INTERVAL: '500ms',
        TOLLGATE_METERING_LOST_GRACE: '1s',
        TOLLGATE_METERING_HOLD_TTL: '10s',
        TOLLGATE_GATEWAY_HOLD_TTL: '10s',
        // Longer than a test pauses a gateway on a busy machine.
        TOLLGATE_GATEWAY_RETRY_WAIT: '5s',
      },
    });
    return new Replicas(fleet, await startBalancer(gatewayUrls(fleet.members)), load);
  }

  async end(): Promise<void> {
    await this.balancer.stop();
    await this.fleet.stop();
  }

  /** Makes calls during `work`. */
  async underLoad(work: () => Promise<void>): Promise<KeepAliveResult> {
    const load = startKeepAlive({ baseUrl: this.balancer.baseUrl, key: this.fleet.key, libraries: true, ...this.load });
    try {
      await sleep(500);
      await work();
      await sleep(500);
    } finally {
      await load.stop();
    }
    const result = await load.stop();
    this.answered += result.answered;
    return result;
  }

  async restartAll(): Promise<void> {
    for (const member of this.fleet.members) {
      await stopMember(member);
      await this.start(member);
    }
  }

  async replaceAll(): Promise<void> {
    const { members } = this.fleet;
    for (const former of members.filter((member) => member.isRunning())) {
      await this.start(members.find(({ name, replica }) => name === former.name && replica !== former.replica)!);
      await stopMember(former);
    }
  }

  /** Starts a member. A gateway has started once the balancer knows it, so that the next one can be stopped. */
  private async start(member: Member): Promise<void> {
    await member.start();
    const { baseUrl } = member;
    if (baseUrl !== undefined) await eventually(() => (this.balancer.serves(baseUrl) ? true : undefined), 10_000);
  }
}

/** Returns the HTTP addresses of the gateways among these. */
export const gatewayUrls = (members: readonly Member[]): string[] =>
  members.flatMap(({ baseUrl }) => (baseUrl === undefined ? [] : [baseUrl]));

async function stopMember(member: Member): Promise<void> {
  const code = await member.end('SIGTERM');
  expect({ name: member.name, code, output: code === 0 ? '' : member.output() }).toEqual({ name: member.name, code: 0, output: '' });
}
