// Records.
import { PageHeader } from '../../ui/layout.js';

export default function Records() {
  return <PageHeader title="Tollgate" />;
}
