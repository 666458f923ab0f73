// InvitationPage.
import { PageHeader } from '../../ui/layout.js';

export default function InvitationPage() {
  return <PageHeader title="Tollgate" />;
}
