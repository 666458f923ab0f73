// SettingsPage.
import { PageHeader } from '../../ui/layout.js';

export default function SettingsPage() {
  return <PageHeader title="Tollgate" />;
}
