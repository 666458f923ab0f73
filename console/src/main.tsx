// The console's entry.
import { CSPProvider } from '@base-ui/react/csp-provider';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.js';
import { fetchMe, meKey, queryClient } from './session/queries.js';
import { FaultBoundary } from './shell/fault-boundary.js';
import './styles.css';

// Takes the response that index.html preloads. On a page that does not query the user, the first query after a sign-in would otherwise get it.
void queryClient.prefetchQuery({ queryKey: meKey, queryFn: fetchMe });

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
