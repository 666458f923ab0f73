// Members.
import { PageHeader } from '../../ui/layout.js';

export default function Members() {
  return <PageHeader title="Tollgate" />;
}
