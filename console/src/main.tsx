// The console's entry.
import { CSPProvider } from '@base-ui/react/csp-provider';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.js';
import { FaultBoundary } from './shell/fault-boundary.js';
import './styles.css';

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    {/* No style elements are created at run time, because the content security policy forbids them. */}
    <CSPProvider disableStyleElements>
      <FaultBoundary resetKey="">
        <App />
      </FaultBoundary>
    </CSPProvider>
  </StrictMode>,
);
