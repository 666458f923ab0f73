// The console's entry.
import { CSPProvider } from '@base-ui/react/csp-provider';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.js';
import { FaultBoundary } from './shell/fault-boundary.js';
import './styles.css';

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    {/* No style element is made at run time: the page's policy would refuse it. */}
    <CSPProvider disableStyleElements>
      <FaultBoundary resetKey="">
        <App />
      </FaultBoundary>
    </CSPProvider>
  </StrictMode>,
);
