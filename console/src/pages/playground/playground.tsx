// Playground.
import { PageHeader } from '../../ui/layout.js';

export default function Playground() {
  return <PageHeader title="Tollgate" />;
}
