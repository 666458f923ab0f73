// The form of an upstream, loaded when it is first opened.
import { type ComponentProps, lazy } from 'react';
import { serverFile } from '../../session/server-file.js';
import { LazyDialog } from '../../ui/lazy-dialog.js';
import type { UpstreamDialog as Form } from './upstream-form.js';

const LazyForm = lazy(async () => ({ default: (await serverFile(() => import('./upstream-form.js'))).UpstreamDialog }));

export function UpstreamDialog(props: ComponentProps<typeof Form>) {
  return (
    <LazyDialog onClose={props.onClose}>
      <LazyForm {...props} />
    </LazyDialog>
  );
}
