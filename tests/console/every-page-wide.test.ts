// Checks every page at the width of a desktop screen.
import { lookAtEveryPage } from './every-page.js';

lookAtEveryPage(1280);
