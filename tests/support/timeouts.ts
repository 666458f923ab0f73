// Whole systems take seconds to start; a hang must still end the run.
import { jest } from '@jest/globals';

jest.setTimeout(150_000);
