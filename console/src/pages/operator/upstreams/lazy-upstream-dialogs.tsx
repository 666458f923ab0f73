// The dialogs of upstreams, loaded when the first of them is opened.
import { type ComponentProps, lazy } from 'react';
import { serverFile } from '../../../session/server-file.js';
import { LazyDialog } from '../../../ui/lazy-dialog.js';
import type { CredentialDialog as Credential } from './credential-dialog.js';
import type { UpstreamDialog as Form } from './upstream-form.js';
import type { TestDialog as Test } from './upstream-test-dialog.js';

const all = () =>
  serverFile(() => Promise.all([import('./upstream-form.js'), import('./upstream-test-dialog.js'), import('./credential-dialog.js')]));

const LazyForm = lazy(async () => ({ default: (await all())[0].UpstreamDialog }));
const LazyCredential = lazy(async () => ({ default: (await all())[2].CredentialDialog }));
const LazyTest = lazy(async () => ({ default: (await all())[1].TestDialog }));

export function UpstreamDialog(props: ComponentProps<typeof Form>) {
  return (
    <LazyDialog onClose={props.onClose}>
      <LazyForm {...props} />
    </LazyDialog>
  );
}

export function TestDialog(props: ComponentProps<typeof Test>) {
  return (
    <LazyDialog onClose={props.onClose}>
      <LazyTest {...props} />
    </LazyDialog>
  );
}

export function CredentialDialog(props: ComponentProps<typeof Credential>) {
  return (
    <LazyDialog onClose={props.onClose}>
      <LazyCredential {...props} />
    </LazyDialog>
  );
}
