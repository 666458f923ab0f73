// AccountPage.
import { PageHeader } from '../../ui/layout.js';

export default function AccountPage() {
  return <PageHeader title="Tollgate" />;
}
