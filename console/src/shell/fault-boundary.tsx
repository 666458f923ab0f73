// Shows an error in place of a part of the console that fails or whose files cannot be loaded (for example after an upgrade); other parts stay usable.
import { Component, type ReactNode } from 'react';
import { ErrorNotice } from '../ui/notice.js';

/** Renders the content again when `resetKey`, the page's address, changes. */
export class FaultBoundary extends Component<{ resetKey: string; children: ReactNode }, { error: unknown; key: string }> {
  override state: { error: unknown; key: string } = { error: undefined, key: this.props.resetKey };

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error };
  }

  static getDerivedStateFromProps(
    props: { resetKey: string },
    state: { error: unknown; key: string },
  ): { error: unknown; key: string } | null {
    return props.resetKey === state.key ? null : { error: undefined, key: props.resetKey };
  }

  override render(): ReactNode {
    return this.state.error === undefined ? (
      this.props.children
    ) : (
      <ErrorNotice error={this.state.error} onRetry={() => location.reload()} />
    );
  }
}
