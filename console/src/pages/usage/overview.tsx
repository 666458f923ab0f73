// Overview.
import { PageHeader } from '../../ui/layout.js';

export default function Overview() {
  return <PageHeader title="Tollgate" />;
}
