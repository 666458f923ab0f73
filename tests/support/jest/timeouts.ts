// Long enough for whole systems to start, short enough that a hanging test ends the run.
import { jest } from '@jest/globals';

jest.setTimeout(150_000);
