// Users.
import { PageHeader } from '../../ui/layout.js';

export default function Users() {
  return <PageHeader title="Tollgate" />;
}
