"""What fitted click models say of users: examination, grades, cascade effects."""
