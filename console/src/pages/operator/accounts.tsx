// Accounts.
import { PageHeader } from '../../ui/layout.js';

export default function Accounts() {
  return <PageHeader title="Tollgate" />;
}
